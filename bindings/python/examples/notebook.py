"""From nothing to a picture, in cells: neurons that a current drives, then a network that learns to tell shapes apart.

    python3 notebook.py [FOLDER]

writes python-neurons.svg and python-training.svg into FOLDER, by default into the current one. Editors that know cells
(`# %%`) run them one by one, as a notebook does, and show the pictures below them. Nothing but NumPy is needed; where
matplotlib is installed and no FOLDER is given, it shows the confusion matrix too. Every run has the same numbers.

SPDX-License-Identifier: MIT
"""
# %% Panels of SVG, for the pictures. Skip this cell; spiking neurons begin with the next one.
import pathlib
import sys
from typing import NamedTuple

import numpy as np

import synfire

in_notebook = "ipykernel" in sys.modules
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 and not in_notebook else ".")
COLORS = ("#1f6fb4", "#d9662b", "#3a8f3f")


class Panel(NamedTuple):
    """Says where a point of its data is in the picture."""

    left: float
    bottom: float
    width: float
    height: float
    x0: float
    x1: float
    y0: float
    y1: float

    def __call__(self, x, y):
        return (self.left + (x - self.x0) / (self.x1 - self.x0) * self.width,
                self.bottom - (y - self.y0) / (self.y1 - self.y0) * self.height)


class Picture:
    """Panels, lines, marks and texts, as SVG."""

    def __init__(self, title, width=760, height=460):
        self.width, self.height = width, height
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} '
                      f'{height}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#333333">',
                      f"<title>{title}</title>", '<rect width="100%" height="100%" fill="#ffffff"/>',
                      f'<text x="16" y="26" font-size="16" font-weight="bold">{title}</text>']

    def panel(self, title, x, y, width, height, x_range, y_range):
        """Begins a panel."""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" stroke="#999999"/>')
        self.text(x, y - 6, title, 'font-weight="bold"')
        return Panel(x, y + height, width, height, *x_range, *y_range)

    def text(self, x, y, text, more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>{text}</text>')

    def ticks(self, panel, below=(), beside=()):
        """Numbers below a panel, and on its left."""
        for a in below:
            self.text(panel(a, 0)[0], panel.bottom + 16, f"{a:g}", 'text-anchor="middle"')
        for b in beside:
            self.text(panel.left - 6, panel(0, b)[1] + 4, f"{b:g}", 'text-anchor="end"')

    def line(self, panel, xs, ys, color, more=""):
        points = " ".join("{:.1f},{:.1f}".format(*panel(float(a), float(b))) for a, b in zip(xs, ys))
        self.parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" {more} points="{points}"/>')

    def dots(self, panel, xs, ys, height, color):
        """A short upright stroke for each spike."""
        marks = "".join("M{:.1f} {:.1f}v{:.1f}".format(*panel(float(a), float(b)), height) for a, b in zip(xs, ys))
        self.parts.append(f'<path stroke="{color}" stroke-width="1.5" d="{marks}"/>')

    def square(self, x, y, side, darkness):
        shade = "#" + "".join(f"{round(255 - darkness * (255 - end)):02x}" for end in (31, 111, 180))
        self.parts.append(f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="{shade}" stroke="#ffffff"/>')

    def _repr_svg_(self):
        """The text of the picture. Notebooks show it."""
        return "\n".join(self.parts) + "\n</svg>\n"

    def save(self, name):
        (folder / name).write_bytes(self._repr_svg_().encode())
        return self


# %% 24 leaky integrate-and-fire neurons. From step 20 to step 170 a current drives them, each with a little more.
# [drive]
STEPS, NEURONS = 200, 24
context = synfire.Context()  # a GPU if one is usable, else the host
layer = synfire.Layer(context, steps=STEPS, neurons=NEURONS, tau=10.0, v_threshold=1.0)

current = np.zeros((STEPS, NEURONS), np.float32)
current[20:170] = np.linspace(0.8, 2.5, NEURONS) + np.random.RandomState(1).uniform(-0.5, 0.5, (150, NEURONS))
spikes, v = np.zeros_like(current), np.zeros_like(current)
layer.forward(x=current, spikes=spikes, v_seq=v)  # all steps at once; NumPy's memory is used directly
context.synchronize()
# [drive]
print(f"{int(spikes.sum())} spikes, by neuron: {' '.join(str(int(n)) for n in spikes.sum(0))}")

# %% The picture: current and V of three neurons, and who fired when.
shown, steps = (2, 9, 22), np.arange(STEPS)
neurons = Picture("LIF neurons driven by a current", width=780, height=560)
panel = neurons.panel("current X", 60, 64, 640, 90, (0, STEPS), (-0.5, 3.5))
for n, color, at in zip(shown, COLORS, (0.8, 1.5, 2.4)):
    neurons.line(panel, steps, current[:, n], color)
    neurons.text(706, panel(0, at)[1] + 4, f"n = {n}", f'fill="{color}"')
neurons.ticks(panel, beside=[0, 1, 2, 3])
panel = neurons.panel("potential V, back at 0 after each spike", 60, 190, 640, 150, (0, STEPS), (-0.1, 1.1))
for n, color in zip(shown, COLORS):
    neurons.line(panel, steps, v[:, n], color)
neurons.line(panel, [0, STEPS], [1, 1], "#999999", 'stroke-dasharray="5 4"')
neurons.text(706, panel(0, 1)[1] + 4, "threshold")
neurons.ticks(panel, beside=[0, 0.5, 1])
panel = neurons.panel("spikes: one row per neuron", 60, 376, 640, 144, (0, STEPS), (0, NEURONS))
for n in range(NEURONS):
    at = np.flatnonzero(spikes[:, n])
    neurons.dots(panel, at, [n + 0.8] * len(at), 3.6, COLORS[shown.index(n)] if n in shown else "#444444")
neurons.ticks(panel, [0, 50, 100, 150, 200], [0, 12, 24])
neurons.text(380, 550, "step", 'text-anchor="middle"')
neurons.save("python-neurons.svg")

# %% Five shapes, at nine places of a noisy field of 9 x 9: how often each input fires in a step.
NAMES = ("row", "column", "plus", "cross", "square")
FIELD = 9


def shapes(rows, seed):
    """The rates [rows, 81] and the number of each shape."""
    random, span = np.random.RandomState(seed), np.arange(7)
    patterns = np.zeros((5, 7, 7), np.float32)
    patterns[0, 3], patterns[1, :, 3] = 1, 1
    patterns[2] = np.maximum(patterns[0], patterns[1])
    patterns[3, span, span], patterns[3, span, 6 - span] = 1, 1
    patterns[4, [0, 6]], patterns[4, :, [0, 6]] = 1, 1
    labels = random.randint(0, 5, rows)
    field = np.zeros((rows, FIELD, FIELD), np.float32)
    for one, label in zip(field, labels):
        y, x = random.randint(0, 3, 2)
        one[y:y + 7, x:x + 7] = patterns[label]
    seen = random.uniform(0, 1, field.shape) < 0.6  # much of each shape is missing
    return (0.45 * field * seen + random.uniform(0, 0.2, field.shape)).astype(np.float32).reshape(rows, -1), labels


training, evaluation = shapes(600, seed=1), shapes(200, seed=2)

# %% A network of two layers learns them.
# [train]
network = synfire.Network(context, steps=16, batch=50, seed=1)
network.add_input("field", "rates", FIELD * FIELD)  # spikes at random, with these rates
network.add_synapse("first", 64)
network.add_neurons("hidden", "lif")
network.add_synapse("second", len(NAMES))
network.add_neurons("potentials", "li")
network.add_readout("scores", "mean")
network.add_loss("loss", "cross_entropy")
network.add_optimizer("adam", "adam", 0.01)
network.build()
network.set_data("training", *training)
network.set_data("evaluation", *evaluation)

losses = [(network.train().loss, network.evaluate().loss) for epoch in range(15)]
# [train]
print(f"loss {losses[0][0]:.4f} to {losses[-1][0]:.4f}, of other shapes {losses[-1][1]:.4f}")

# %% The confusion matrix: each row is a shape, each column an answer.
scores = np.zeros((len(evaluation[0]), len(NAMES)), np.float32)
network.infer(evaluation[0], len(scores), scores)
confusion = np.zeros((len(NAMES), len(NAMES)), int)
np.add.at(confusion, (evaluation[1], scores.argmax(1)), 1)
print(f"{confusion.trace()} of {len(scores)} right")
for name, row in zip(NAMES, confusion):
    print(f"{name:>7}", *(f"{count:3d}" for count in row))

# %% The picture: a shape of each kind, the loss, the confusion matrix.
trained = Picture("A network of 64 LIF neurons tells shapes apart", height=430)
for k, name in enumerate(NAMES):
    one = training[0][np.flatnonzero(training[1] == k)[0]].reshape(FIELD, FIELD)
    for y, x in np.ndindex(FIELD, FIELD):
        trained.square(44 + 70 * k + 6 * x, 64 + 6 * y, 6, float(one[y, x]) / 0.65)
    trained.text(71 + 70 * k, 58, name, 'text-anchor="middle"')
top = max(max(pair) for pair in losses) * 1.1
panel = trained.panel("loss of each epoch", 60, 164, 300, 210, (1, len(losses)), (0, top))
for which, (name, color) in enumerate(zip(("training", "other shapes"), COLORS)):
    trained.line(panel, range(1, len(losses) + 1), [pair[which] for pair in losses], color)
    trained.text(350, 184 + 18 * which, name, f'text-anchor="end" fill="{color}"')
trained.ticks(panel, [1, 5, 10, 15], [0, 0.5, 1, 1.5])
trained.text(210, 412, "epoch", 'text-anchor="middle"')
trained.text(480, 58, "confusion: shape down, answer across", 'font-weight="bold"')
SIDE = 54
for (true, answer), count in np.ndenumerate(confusion):
    x, y = 480 + SIDE * answer, 90 + SIDE * true
    share = float(count) / int(confusion[true].sum())
    trained.square(x, y, SIDE, share)
    color = "#ffffff" if share > 0.5 else "#333333"
    trained.text(x + SIDE / 2, y + SIDE / 2 + 4, count, f'text-anchor="middle" fill="{color}"')
for k, name in enumerate(NAMES):
    trained.text(472, 90 + SIDE * k + SIDE / 2 + 4, name, 'text-anchor="end"')
    trained.text(480 + SIDE * k + SIDE / 2, 82, name, 'text-anchor="middle"')
trained.save("python-training.svg")

# %% The same matrix by matplotlib, if it is there.
if in_notebook or len(sys.argv) == 1:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        plt = None
    if plt:
        plt.imshow(confusion, cmap="Blues")
        plt.xticks(range(len(NAMES)), NAMES)
        plt.yticks(range(len(NAMES)), NAMES)
        plt.xlabel("answer")
        plt.ylabel("shape")
        plt.colorbar(label="rows")
        plt.show()
