# resume.jl - goes on with a training that another program has begun: julia resume.jl FILE_IN FILE_OUT BATCHES [host | cuda]
#
# The network of FILE_IN is trained for BATCHES steps and becomes FILE_OUT; bindings/programs/resume.c says more.
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

const inputs, classes, rows = 41, 3, 99

base(input, row) = input % classes == row % classes ? 20 : 12
noise(i) = (0x9e3779b1 * UInt32(i)) >> 28
const rates = Float32[(base(k, r) + noise(r * inputs + k)) / 128 for k in 0:inputs-1, r in 0:rows-1]

file_in, file_out, batches = ARGS
backend = length(ARGS) > 3 && ARGS[4] == "cuda" ? :cuda : :host
Context(; backend) do context
    network = Network(context, file_in)
    set_data!(network, :training, rates, collect(0:rows-1) .% classes)
    result = train!(network, parse(Int, batches))
    save(network, file_out)
    @printf("%s batches, loss %.9f\n", batches, result.loss)
end
