# Everything: training, compression, audits of models and the viewer.
#   docker build -f containers/full.Dockerfile -t tfaudit:full .
#   docker run --rm -v "$PWD:/work" tfaudit:full gate --baseline a.keras --compressed b.tflite --data images
#   docker run --rm -v "$PWD:/work" -p 8501:8501 tfaudit:full view study --address 0.0.0.0
FROM python:3.11-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.11-slim
COPY --from=build /wheels /wheels
COPY containers/full.lock /wheels/
RUN pip install --no-cache-dir --require-hashes -r /wheels/full.lock \
    && pip install --no-cache-dir --no-deps /wheels/*.whl
ENV HOME=/tmp
USER 10001
WORKDIR /work
EXPOSE 8501
ENTRYPOINT ["tfaudit"]
CMD ["--help"]
