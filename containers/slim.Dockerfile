# Audits of predictions, the gate and the report, without TensorFlow:
#   docker build -f containers/slim.Dockerfile -t tfaudit:slim .
#   docker run --rm -v "$PWD:/work" tfaudit:slim gate --labels y.npy --baseline a.npy --compressed b.npy
FROM python:3.11-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.11-slim
COPY --from=build /wheels /wheels
COPY containers/slim.lock /wheels/
# The libraries' own tests are 60 MB.
RUN pip install --no-cache-dir --require-hashes -r /wheels/slim.lock \
    && pip install --no-cache-dir --no-deps /wheels/*.whl \
    && find "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" -type d -name tests -prune -exec rm -rf {} +
ENV HOME=/tmp
USER 10001
WORKDIR /work
ENTRYPOINT ["tfaudit"]
CMD ["--help"]
