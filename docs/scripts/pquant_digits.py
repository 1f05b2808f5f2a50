import os

os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
from pquant import add_compression_layers, apply_final_compression, pdp_config, train_model
from torch import nn

train, test = np.load("train.npz"), np.load("test.npz")
x, held_out = (torch.tensor(data["x"]).permute(0, 3, 1, 2) / 255 for data in (train, test))
y = torch.tensor(train["y"])


def epoch_of(model, epoch, optimizer):
    for rows in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()


def save(name, model):
    with torch.no_grad():
        np.save(name, model.eval()(held_out))


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 10))
adam = torch.optim.Adam(model.parameters(), 1e-3)
for epoch in range(20):
    epoch_of(model, epoch, adam)
save("pquant_float.npy", model)

config = pdp_config()
config.training_parameters.pretraining_epochs = 5
config.training_parameters.epochs = 10
config.training_parameters.fine_tuning_epochs = 5
model = add_compression_layers(model, config, (1, 1, 8, 8))
adam = torch.optim.Adam(model.parameters(), 1e-3)
model = train_model(model, config, epoch_of, lambda *_, **__: None, (1, 1, 8, 8), optimizer=adam)
save("pquant.npy", apply_final_compression(model))
