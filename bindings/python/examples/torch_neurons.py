"""A network of PyTorch with neurons of this library: three kinds of noise, told apart by their more active inputs.

SPDX-License-Identifier: MIT
"""
import torch

import synfire.torch

STEPS, ROWS, INPUTS, CLASSES = 20, 60, 30, 3

torch.manual_seed(1)
labels = torch.arange(ROWS) % CLASSES
rates = 0.1 + 0.3 * (torch.arange(INPUTS) % CLASSES == labels[:, None])
spikes = torch.rand(STEPS, ROWS, INPUTS).less(rates).float()

# [network]
net = torch.nn.Sequential(
    torch.nn.Linear(INPUTS, 40), synfire.torch.Neuron("lif", tau=2.0, surrogate="atan", alpha=2.0),  # spikes
    torch.nn.Linear(40, CLASSES), synfire.torch.Neuron("li", tau=4.0))  # V of every step
# [network]
optimizer = torch.optim.Adam(net.parameters(), 0.01)
for epoch in range(30):
    for module in (net[1], net[3]):
        module.reset()
    scores = net(spikes).mean(0)
    loss = torch.nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}, {int((scores.argmax(1) == labels).sum())} of {ROWS} right")
