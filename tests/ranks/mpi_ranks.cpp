// A rank that MPI has started. "same": trains a network with the other ranks and another one alone, and compares the
// files. "kill": the last rank ends in the middle of the training, and the others say what they then get. "abort": it
// does not come to a second group, and gives up the first one.
#include <synfire/synfire.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t n_steps = 8, batch = 7, n_rows = 17, n_inputs = 40, n_classes = 4;

void check(synfire_status status) {
  if (status >= 0) return;
  char text[1280];
  synfire_last_error(text, sizeof text, nullptr);
  std::printf("%s\n", text);
  std::exit(1);
}

synfire_buffer buffer_of(synfire_context context, int32_t dtype, const void* values, uint64_t count) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = count;
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(context, &desc, &buffer));
  check(synfire_buffer_upload(buffer, 0, values, count * 4));
  return buffer;
}

synfire_network make_network(synfire_context context, synfire_communicator communicator) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.seed = 1;
  desc.communicator = communicator;
  synfire_network network = nullptr;
  check(synfire_network_create(context, &desc, &network));
  check(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, n_inputs));
  check(synfire_network_add_dropout(network, "dropout", 0.25));
  check(synfire_network_add_synapse(network, "first", 33));
  check(synfire_network_set_value(network, "first", "gain", 4));
  check(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_LIF));
  check(synfire_network_add_synapse(network, "second", n_classes));
  check(synfire_network_add_neurons(network, "out", SYNFIRE_MODEL_LI));
  check(synfire_network_add_readout(network, "read", SYNFIRE_READOUT_MEAN, 0));
  check(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  check(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0));
  check(synfire_network_build(network));
  std::vector<float> rates(static_cast<size_t>(n_rows * n_inputs));
  std::vector<uint32_t> labels(static_cast<size_t>(n_rows));
  uint32_t random = 1;
  for (float& rate : rates) {
    random = random * 1664525U + 1013904223U;
    rate = static_cast<float>(random >> 8) / 16777216.0F;
  }
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<uint32_t>(i % n_classes);
  const synfire_buffer inputs = buffer_of(context, SYNFIRE_DTYPE_F32, rates.data(), rates.size()),
                       classes = buffer_of(context, SYNFIRE_DTYPE_U32, labels.data(), labels.size());
  check(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, n_rows, inputs, classes, nullptr, nullptr, nullptr));
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(classes);
  return network;
}

std::vector<char> trained_file(synfire_network network) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  for (int epoch = 0; epoch < 5; ++epoch) check(synfire_network_train(network, 0, &result));
  uint64_t bytes = 0;
  check(synfire_network_save_to_memory(network, nullptr, &bytes));
  std::vector<char> file(bytes);
  check(synfire_network_save_to_memory(network, file.data(), &bytes));
  return file;
}

// A child gives up what it has of its parent, which goes on.
void fork_child(synfire_communicator communicator) {
  const pid_t child = ::fork();
  if (child == 0) {
    synfire_communicator_abort(communicator);
    synfire_communicator_destroy(communicator);
    synfire_context_reclaim(nullptr, nullptr);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

int compare(synfire_context context, synfire_communicator communicator, int32_t rank) {
  fork_child(communicator);
  const synfire_network together = make_network(context, communicator), alone = make_network(context, nullptr);
  const bool same = trained_file(together) == trained_file(alone);
  std::printf("rank %d: %s\n", rank, same ? "the same bits" : "OTHER BITS");
  synfire_network_destroy(together);
  synfire_network_destroy(alone);
  return same ? 0 : 1;
}

// The last rank does not come, and a call of another one does not wait for ever.
bool is_missed(synfire_context context) {
  synfire_communicator_desc desc = SYNFIRE_COMMUNICATOR_DESC_INIT;
  desc.timeout_ns = 300'000'000;
  synfire_communicator second = nullptr;
  return synfire_communicator_create(context, &desc, &second) == SYNFIRE_ERROR_PEER_LOST;
}

// The last rank is killed, ends as a program does that does not destroy its objects, or gives up.
int lose(synfire_context context, synfire_communicator communicator, int32_t rank, bool is_last, const char* how,
         const char* folder) {
  const bool kills = std::strcmp(how, "kill") == 0;
  const synfire_network network = make_network(context, communicator);
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  check(synfire_network_train(network, 3, &result));
  if (is_last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the others have all that this rank has given them
    if (kills) std::raise(SIGKILL);
    if (std::strcmp(how, "end") == 0) std::exit(0);
    check(synfire_communicator_abort(communicator));
  }
  const auto before = std::chrono::steady_clock::now();
  const bool is_right = kills || is_last || is_missed(context);
  const synfire_status status = synfire_network_train(network, 1000, &result);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const bool is_in_time = is_right && status == SYNFIRE_ERROR_PEER_LOST && seconds < 10;
  // A launcher that ends all processes may lose what they have printed.
  const std::string path = std::string(folder) + "/" + std::to_string(rank);
  if (std::FILE* const file = std::fopen(path.c_str(), "w")) {
    std::fprintf(file, "%s after %.2f s\n", is_in_time ? "PEER_LOST" : synfire_status_name(status), seconds);
    std::fclose(file);
  }
  // All can be destroyed.
  synfire_network_destroy(network);
  return is_in_time ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IONBF,
               0);  // a launcher that ends all processes does not let them write what they hold
  synfire_context_desc of_context = SYNFIRE_CONTEXT_DESC_INIT;
  of_context.backend = SYNFIRE_BACKEND_HOST;
  of_context.n_threads = 1;
  synfire_context context = nullptr;
  check(synfire_context_create(&of_context, &context));
  synfire_communicator communicator = nullptr;
  check(synfire_communicator_create(context, nullptr, &communicator));
  synfire_communicator_properties is = SYNFIRE_COMMUNICATOR_PROPERTIES_INIT;
  check(synfire_communicator_get_properties(communicator, &is));
  const int failed = argc > 2 ? lose(context, communicator, is.rank, is.rank == is.size - 1, argv[1], argv[2])
                              : compare(context, communicator, is.rank);
  synfire_communicator_destroy(communicator);
  check(synfire_context_reclaim(context, nullptr));
  synfire_context_destroy(context);
  return failed;
}
