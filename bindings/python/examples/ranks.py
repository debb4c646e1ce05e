"""Two threads, each a rank, learn one network together: it is the one that a single rank learns, with the same bits.

Processes that mpirun starts do the same: each then has synfire.Communicator(context), without rank and size.

SPDX-License-Identifier: MIT
"""
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import synfire

INPUTS, CLASSES, ROWS, RANKS = 41, 3, 99, 2

i = np.arange(ROWS * INPUTS, dtype=np.uint32)
base = np.where(i % INPUTS % CLASSES == i // INPUTS % CLASSES, 20, 12)
rates = ((base + (np.uint32(0x9E3779B1) * i >> 28)) / 128).astype(np.float32).reshape(ROWS, INPUTS)


def learn(context, communicator=None):
    """The last loss, and the network as a file."""
    with synfire.Network(context, steps=20, batch=30, communicator=communicator) as network:
        network.add_input("rates", "rates", INPUTS)
        network.add_synapse("first", 53)
        network.add_neurons("hidden", "lif")
        network.add_synapse("second", CLASSES)
        network.add_neurons("potentials", "li")
        network.add_readout("scores", "mean")
        network.add_loss("loss", "cross_entropy")
        network.add_optimizer("adam", "adam", 0.01)
        network.build()
        network.set_data("training", rates, np.arange(ROWS) % CLASSES)
        return network.train(20).loss, bytes(network.save_to_memory())


def learn_as(rank):
    with synfire.Context("host", threads=1) as context:
        with synfire.Communicator(context, transport="loopback", rank=rank, size=RANKS) as communicator:
            try:
                return learn(context, communicator)
            except BaseException:
                communicator.abort()  # or the others would wait for this rank
                raise


with synfire.Context("host") as host:
    alone = learn(host)
with ThreadPoolExecutor(RANKS) as threads:
    together = list(threads.map(learn_as, range(RANKS)))
for rank, (loss, file) in enumerate(together):
    print(f"rank {rank} of {RANKS}: loss {loss:.9f}, {'the same file' if file == alone[1] else 'ANOTHER FILE'}")
print(f"alone: loss {alone[0]:.9f}")
