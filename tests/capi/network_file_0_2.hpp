// A file that version 0.2.0 has written: its header, and the bytes of its tensors in hexadecimal. The network is that
// of network_old_file_test.cpp, after four batches of training.
#ifndef SYNFIRE_TESTS_CAPI_NETWORK_FILE_0_2_HPP
#define SYNFIRE_TESTS_CAPI_NETWORK_FILE_0_2_HPP

namespace synfire_test {

inline constexpr char header_of_0_2[] =
    R"({"__metadata__":{"synfire.network":"version=1 dtype=f32 n_steps=3 batch=2 seed=7 drop_last=0 )"
    R"(n_slots=0 n_stages=9 n_rows=5 next_batch=4","synfire.stage.0":"kind=input name=input width=5 )"
    R"(choice=2 seed=7 dtype=0 per_step=0 pinned=0 offset=12","synfire.stage.1":"kind=dropout )"
    R"(name=drop width=5 choice=0 seed=8 probability=0.25 offset=4","synfire.stage.2":"kind=synapse )"
    R"(name=s0 width=4 choice=0 seed=9 has_mask=1 bias=1 frozen=0 gradient_bits=24 initialization=0 )"
    R"(gain=2 learning_rate_factor=1 weight_decay_factor=1 bias_learning_rate_factor=1 )"
    R"(bias_weight_decay_factor=0","synfire.stage.3":"kind=neurons name=n0 width=4 model=lif seed=10 )"
    R"(has_rate=1 dtype=0 reset=0 surrogate=0 detach_reset=0 undecayed_input=0 tape=0 rate_target=0.2 )"
    R"(rate_strength=0.5 rate_of_layer=0 parameter.v_threshold=0.5 trained.tau=neuron,0.5,0,1.1,inf",)"
    R"("synfire.stage.4":"kind=synapse name=s1 width=3 choice=0 seed=101 bias=1 frozen=0 )"
    R"(gradient_bits=24 initialization=0 gain=2 learning_rate_factor=1 weight_decay_factor=1 )"
    R"(bias_learning_rate_factor=1 bias_weight_decay_factor=0","synfire.stage.5":"kind=neurons name=n1 )"
    R"(width=3 model=li seed=12 dtype=0 reset=0 surrogate=0 detach_reset=0 undecayed_input=0 tape=0 )"
    R"(rate_target=0 rate_strength=0 rate_of_layer=0","synfire.stage.6":"kind=readout name=readout )"
    R"(width=3 choice=1 of_spikes=0 seed=13","synfire.stage.7":"kind=loss name=loss choice=0 seed=14 )"
    R"(has_class_weights=1 targets=0 per_step=0 ignores_label=0 ignored_label=0 label_smoothing=0.125 )"
    R"(gradient_scale=1","synfire.stage.8":"kind=optimizer name=optimizer choice=2 seed=15 )"
    R"(learning_rate=0.01 weight_decay=0.01 clip_norm=0.5 momentum=0 nesterov=0 beta1=0.9 beta2=0.999 )"
    R"(epsilon=1e-08"},"n0.parameter.alpha":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
    R"("n0.parameter.tau":{"dtype":"F64","shape":[4],"data_offsets":[8,40]},)"
    R"("n0.parameter.v_reset":{"dtype":"F64","shape":[],"data_offsets":[40,48]},)"
    R"("n0.parameter.v_rest":{"dtype":"F64","shape":[],"data_offsets":[48,56]},)"
    R"("n0.parameter.v_threshold":{"dtype":"F64","shape":[],"data_offsets":[56,64]},)"
    R"("n1.parameter.tau":{"dtype":"F64","shape":[],"data_offsets":[64,72]},)"
    R"("n1.parameter.v_rest":{"dtype":"F64","shape":[],"data_offsets":[72,80]},)"
    R"("optimizer.beta1_power":{"dtype":"F64","shape":[],"data_offsets":[80,88]},)"
    R"("optimizer.beta2_power":{"dtype":"F64","shape":[],"data_offsets":[88,96]},)"
    R"("optimizer.skipped":{"dtype":"U64","shape":[],"data_offsets":[96,104]},)"
    R"("optimizer.step_count":{"dtype":"U64","shape":[],"data_offsets":[104,112]},)"
    R"("loss.class_weights":{"dtype":"F32","shape":[3],"data_offsets":[112,124]},)"
    R"("n0.state.v":{"dtype":"F32","shape":[2,4],"data_offsets":[124,156]},"n1.state.v":{"dtype":"F32",)"
    R"("shape":[2,3],"data_offsets":[156,180]},"optimizer.n0.parameter.tau.moment1":{"dtype":"F32",)"
    R"("shape":[4],"data_offsets":[180,196]},"optimizer.n0.parameter.tau.moment2":{"dtype":"F32",)"
    R"("shape":[4],"data_offsets":[196,212]},"optimizer.s0.bias.moment1":{"dtype":"F32","shape":[4],)"
    R"("data_offsets":[212,228]},"optimizer.s0.bias.moment2":{"dtype":"F32","shape":[4],)"
    R"("data_offsets":[228,244]},"optimizer.s0.weights.moment1":{"dtype":"F32","shape":[4,5],)"
    R"("data_offsets":[244,324]},"optimizer.s0.weights.moment2":{"dtype":"F32","shape":[4,5],)"
    R"("data_offsets":[324,404]},"optimizer.s1.bias.moment1":{"dtype":"F32","shape":[3],)"
    R"("data_offsets":[404,416]},"optimizer.s1.bias.moment2":{"dtype":"F32","shape":[3],)"
    R"("data_offsets":[416,428]},"optimizer.s1.weights.moment1":{"dtype":"F32","shape":[3,4],)"
    R"("data_offsets":[428,476]},"optimizer.s1.weights.moment2":{"dtype":"F32","shape":[3,4],)"
    R"("data_offsets":[476,524]},"s0.bias":{"dtype":"F32","shape":[4],"data_offsets":[524,540]},)"
    R"("s0.weights":{"dtype":"F32","shape":[4,5],"data_offsets":[540,620]},"s1.bias":{"dtype":"F32",)"
    R"("shape":[3],"data_offsets":[620,632]},"s1.weights":{"dtype":"F32","shape":[3,4],)"
    R"("data_offsets":[632,680]},"s0.mask":{"dtype":"U8","shape":[4,5],"data_offsets":[680,700]}}      )";

inline constexpr char tensors_of_0_2[] =
    "00000000000010401247e28d4d20004055bb9d280d0d0040058846b89a200040ad4fb243df0b0040000000000000000000000000"
    "00000000000000000000e03f00000000000000400000000000000000aefa5c6dc5fee43fe7366ef747dfef3f0000000000000000"
    "04000000000000000000803f000000400000003f0000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000008f7b90b9692350389904fbbb4e19f738c10e8e31b68eda3034336a36"
    "55d6bb3091e259bbcbd2fa39ab190c3d612185baf6f6383510174333b2ee4238ef29603449a5e3ba7325e9b934870fbb00000000"
    "f47047bb59341ab7b156023a402c2db84638db396594e0b86085443c000000007c9842b9bdff7c3c7642273def6731371519aeba"
    "cee5beb9ab8194ba6d160c3a300e94343da00334d8aff33400000000ada7e9346910372d7f0008332431392f0ccc0933a1245430"
    "b44f94370000000052fc6e3612ed803701efaa38deddd62d509b5634a9843f32b7677e34c59310335066983d803c98bd6445a7b8"
    "44c14f3918799d397c684c3900000000000000000298313c00000000000000000000000028fc98bc000000000000000000000000"
    "4e60003c0000000000000000000000008dec0737000000000000000000000000a1fec13700000000000000000000000013748636"
    "00000000a35d6a3ef56e86be8c0b1dbffe314bbf161bc13db42b3b3c79c2933d00000000de854bbfe82808bf76803cbd33e525bf"
    "f55e8bbe641424bf4c9b3cbf00000000cce691bd5eb4013fccdf533fce766abf5bfd8e3dafa6babe4bb73d3fe9f8e2be7aa5373e"
    "14d275bfe33482bffd1ef63ea88f4b3f2364573fa69e24bea5ad5d3fb97a3c3f63e155bf9ec108bf915ace3e4f36f33e1a7f58be"
    "8c5f34be0101010001010101010101000101010101010101";

}  // namespace synfire_test

#endif
