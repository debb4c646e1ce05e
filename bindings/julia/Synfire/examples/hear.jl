# hear.jl - sound in, spikes out, one graph replayed for every millisecond: docs/examples/hear in Julia.
#
# It writes the spikes.npy that the C program writes, byte for byte.
#
#   julia hear.jl SOUND.wav FOLDER [FRAMES]
#
# What lives here: reading a WAV file (mono or stereo, 16 bits), a silicon cochlea, the loop, and the file of spikes.
# The sources of the cochlea's formulas are in docs/examples/sound/cochlea.c.
#
# SPDX-License-Identifier: MIT
using Synfire

const channels, order, drive = 128, 4, 60.0f0

# ---- Sound -----------------------------------------------------------------------------------------------------------

# Samples in [-1, 1), stereo as its mean, and how many there are in a second.
function read_wav(path)
    bytes = read(path)
    number(T, at) = ltoh(reinterpret(T, bytes[at:at+sizeof(T)-1])[1])
    code(at) = String(bytes[at:at+3])
    length(bytes) >= 44 && code(1) == "RIFF" && code(9) == "WAVE" || error("$path: no WAV file")
    at, rate, n_channels = 13, 0, 0
    while at + 7 <= length(bytes)
        size = Int(number(UInt32, at + 4))
        at + 7 + size <= length(bytes) || error("$path: truncated")
        if code(at) == "fmt "
            number(UInt16, at + 8) == 1 && number(UInt16, at + 22) == 16 || error("$path: allowed: 16-bit PCM")
            n_channels, rate = Int(number(UInt16, at + 10)), Int(number(UInt32, at + 12))
        elseif code(at) == "data"
            n_channels in (1, 2) || error("$path: $n_channels channels; allowed: 1 or 2")
            values = reshape(Int32.(ltoh.(reinterpret(Int16, bytes[at+8:at+7+size]))), n_channels, :)
            return Float32.(vec(sum(values; dims=1))) ./ (32768.0f0 * n_channels), rate
        end
        at += 8 + size + isodd(size)
    end
    error("$path: no samples")
end

# The C library's mathematics: Julia's own functions may differ from them in the last bit.
for name in (:exp, :cos, :sin, :log10)
    @eval $(Symbol("c_", name))(x) = ccall($(QuoteNode(name)), Float64, (Float64,), x)
end
c_pow(x, y) = ccall(:pow, Float64, (Float64, Float64), x, y)

# 128 gammatone resonators, each a cascade of four one-pole resonators. State and coefficients: one array per quantity.
struct Cochlea
    pole_re::Vector{Float32}
    pole_im::Vector{Float32}
    scale::Vector{Float32}
    state_re::Matrix{Float32}            # [channel, stage]
    state_im::Matrix{Float32}
    level::Float32
    previous::Base.RefValue{Float32}
end

erb_number(hz) = 21.4 * c_log10(4.37 * hz / 1000.0 + 1.0)
erb_number_to_hz(number) = (c_pow(10.0, number / 21.4) - 1.0) * 1000.0 / 4.37

function Cochlea(samples, rate)
    from, to = erb_number(80.0), erb_number(min(7000.0, 0.45 * rate))
    hz = [erb_number_to_hz(from + (to - from) * c / (channels - 1)) for c in 0:channels-1]
    radius = [c_exp(-2.0 * Float64(pi) * (1.019 * 24.7 * (4.37 * f / 1000.0 + 1.0)) / rate) for f in hz]
    angle = [2.0 * Float64(pi) * f / rate for f in hz]
    energy = 0.0
    for sample in samples                # in the order of the C program; sum() would add pairwise
        energy += Float64(sample) * Float64(sample)
    end
    rms = sqrt(energy / length(samples))
    level = Float32(rms * 100.0 > 0.1 ? 0.1 / rms : 100.0)
    return Cochlea(radius .* c_cos.(angle), radius .* c_sin.(angle), 2.0 .* c_pow.(1.0 .- radius, Float64(order)),
                   zeros(Float32, channels, order), zeros(Float32, channels, order), level, Ref(0.0f0))
end

# Hears samples: response [channel, sample], never negative. The state continues.
function hear!(self::Cochlea, response, samples)
    for n in eachindex(samples)
        sample = self.level * samples[n]
        input = sample - 0.95f0 * self.previous[] + 1.0f-18
        self.previous[] = sample
        @inbounds for c in 1:channels
            in_re, in_im, pole_re, pole_im = input, 0.0f0, self.pole_re[c], self.pole_im[c]
            for stage in 1:order
                re, im = self.state_re[c, stage], self.state_im[c, stage]
                in_re += pole_re * re - pole_im * im
                in_im += pole_re * im + pole_im * re
                self.state_re[c, stage], self.state_im[c, stage] = in_re, in_im
            end
            moved = self.scale[c] * in_re
            response[c, n] = moved > 0.0f0 ? sqrt(moved) : 0.0f0
        end
    end
end

# ---- Spikes ----------------------------------------------------------------------------------------------------------

# NumPy's file format, version 1.0: uint32 [steps, words].
function write_npy_header(file, n_steps, n_words)
    text = "{'descr': '<u4', 'fortran_order': False, 'shape': ($n_steps, $n_words), }"
    write(file, UInt8[0x93], "NUMPY", UInt8[1, 0, 118, 0], rpad(text, 117), '\n')
end

function main(sound, folder, frames)
    samples, rate = read_wav(sound)
    frame_samples = (rate + 500) ÷ 1000
    frames = frames == 0 ? cld(length(samples), frame_samples) : frames
    cochlea = Cochlea(samples, rate)
    heard = vcat(samples, zeros(Float32, frames * frame_samples))      # silence after the end

    Context(backend=:host) do context
        layer = Layer(context; steps=frame_samples, neurons=channels, tau=fill(rate * 0.010, channels),
                      detach_reset=true)
        x = sequence_buffer(layer; memory=:pinned)
        spikes = spike_buffer(layer; memory=:pinned)
        step = record(graph -> forward!(graph, layer; x=x, spikes=spikes, tape=:none), context)

        response, words, n_spikes = zeros(Float32, channels, frame_samples), hostarray(spikes), 0
        open(joinpath(mkpath(folder), "spikes.npy"), "w") do file
            write_npy_header(file, frames * frame_samples, size(words, 1))
            for frame in 0:frames-1
                hear!(cochlea, response, view(heard, frame*frame_samples+1:(frame+1)*frame_samples))
                hostarray(x) .= response .* drive
                wait(step, launch!(step))
                n_spikes += sum(count_ones, words)
                write(file, htol.(words))
            end
        end
        println("$frames frames of $frame_samples samples: $n_spikes spikes")
    end
end

main(ARGS[1], ARGS[2], length(ARGS) > 2 ? parse(Int, ARGS[3]) : 0)
