#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/form.hpp"
#include "sim/lane_sets.hpp"
#include "sim/memory.hpp"
#include "sim/program.hpp"
#include "warploom/ptx/cfg.hpp"

namespace warploom::sim {

/// The first bytes of shared memory are the system's, as on an H200. A null pointer points there, so they are
/// nobody's but of a kernel that asks where they are: then it may use those that cooperative groups use.
inline constexpr std::uint32_t kReservedShared = 1024, kReservedUsable = 288;
inline constexpr std::string_view kReservedOffset = "%reserved_smem_offset_";

/// Turns one kernel and what it calls into a Program. A file each: the functions and their order
/// (decode_function.cpp), operands and arithmetic (decode.cpp), memory (decode_memory.cpp), calls
/// (calls.cpp), barriers and warp operations (barriers.cpp, warp_operations.cpp).
struct Decoder {
  Decoder(const ptx::Module& of, const Memory& with, Program& to) : module(of), memory(with), program(to) {}

  const ptx::Module& module;
  const Memory& memory;
  Program& program;

  // The function being decoded.
  const ptx::Function* function = nullptr;
  std::uint32_t function_index = 0;
  std::vector<std::uint32_t> register_offset;  ///< of each register of the function
  std::vector<bool> is_constant;  ///< a register is written once, and with what names and numbers make

  // The instruction being decoded.
  const ptx::Instruction* instruction = nullptr;
  const ptx::Opcode* opcode = nullptr;
  std::span<const ptx::Operand> operands;
  Step step;

  // What lasts over functions.
  std::unordered_map<std::uint32_t, std::uint32_t> code_of;  ///< ptx function -> Program::functions
  std::unordered_map<std::uint32_t, std::uint32_t> thread_place, shared_place,
      parameter_place;  ///< variable -> byte
  std::map<std::pair<std::uint64_t, unsigned>, Source> constant_pool;
  std::map<std::pair<Special, unsigned>, std::uint32_t> special_slots;
  std::set<std::uint32_t> placed;      ///< functions whose variables have storage
  std::vector<std::uint32_t> calling;  ///< functions being decoded, outermost first
  std::uint32_t scratch = kNoSlot, carry_slot = kNoSlot;
  std::uint32_t stack_pointer = kNoSlot, stack_begin = 0;  ///< of alloca: a register, a byte of thread memory

  /// @throws Unsupported naming file, line, kernel, the instruction and `why`
  [[noreturn]] void unsupported(const std::string& why = "") const;

  // Operands. `bytes`: width of the register the handler reads or writes; 0: a predicate.
  Source source(const ptx::Operand& operand, unsigned bytes, bool real = false);
  std::uint32_t destination(const ptx::Operand& operand, unsigned bytes);
  /// Width of a register operand: 2, 4, 8, 16, or 0 of a predicate; `otherwise` if it is none.
  unsigned register_bytes(const ptx::Operand& operand, unsigned otherwise) const;
  Source constant(std::uint64_t value, unsigned bytes);
  /// Address of a variable in its own space. @throws Unsupported if it has none
  std::uint64_t symbol_address(const ptx::Operand& operand) const;
  std::uint32_t allocate_register(unsigned bytes);
  /// Of %reserved_smem_offset_begin and its like. @throws Unsupported
  std::uint32_t reserved_offset(std::string_view name) const;
  /// The register of .cc.
  std::uint32_t carry();

  // Instructions; each fills `step`.
  void arithmetic();
  void pack_saturated();
  bool scalar_video();                     ///< false: not one
  void select_elements(const Form& form);  ///< .b3210 of the SIMD video instructions
  void move();
  bool memory_operation();  ///< false: not one
  bool warp_operation();
  bool barrier_operation();
  bool cluster_operation();
  bool matrix_operation();
  void matrix_product();
  void quad_product();
  void warpgroup_product();
  void matrix_access();
  /// The registers of a matrix.
  void fill(Fragment& fragment, const ptx::Operand& operand, bool written);
  /// Of the instruction's name.
  MatrixShape matrix_shape() const;
  void atomic();
  void async_copy();
  void bulk_copy();
  void async_store();
  /// Of st.async and red.async: fills Step::d and second.
  MemoryForm tracking_mbarrier_form(const ptx::Operand& operand);
  void tensor_copy();
  bool texture_operation();  ///< false: not one
  void tensor_map_operation();
  bool stack_operation();  ///< false: not one
  void mbarrier();

  /// Decodes the function of that index and, before it, its callees. Index in Program::functions.
  std::uint32_t add_function(std::uint32_t index);
  void note_uses();
  void note_memory();

  // calls.cpp
  std::vector<std::uint32_t> callees(const ptx::Function& caller, const ptx::Instruction& call) const;
  void call();
  /// The step that follows a call takes its results.
  void after_instruction();
  /// Return from a function, or leave the kernel.
  void finish_function(bool kernel, std::uint32_t index);
  std::uint32_t return_slot(std::uint32_t index);

  /// The qualifiers of a memory access.
  MemoryForm memory_form() const;
  /// Base and displacement of an address operand.
  void address(const ptx::Operand& operand, MemoryForm& form);

  /// Gives storage to the variables of a function and of all that it may call.
  void place_reachable(std::uint32_t index);

 private:
  void place_variables(std::uint32_t index);
  void instruction_at(std::uint32_t i);
  /// The instruction at hand becomes a step that throws `why`.
  void refuse(const std::string& why);
  void find_constants();

  std::uint32_t jump_label = ptx::kNone;     ///< of the bra just decoded
  std::vector<std::uint32_t> switch_labels;  ///< of the brx just decoded
  std::unordered_map<std::uint32_t, std::uint32_t> return_slots_;
  struct {
    Handler run = nullptr;
    std::uint32_t extra = 0, destination = 0;
  } results_after_;  ///< of the call just decoded
};

// Handlers that the decoder's files share.
void run_jump(Registers& registers, const Step& step, Mask lanes);    ///< to step immediate
void run_on(Registers& registers, const Step& step, Mask lanes);      ///< the same, of the decoder's own
void run_switch(Registers& registers, const Step& step, Mask lanes);  ///< a: index into Program::jumps[extra]
void run_join(Registers& registers, const Step& step, Mask lanes);    ///< before a step that several come to
void run_leave(Registers& registers, const Step& step, Mask lanes);
void run_nothing(Registers& registers, const Step& step, Mask lanes);
void run_trap(Registers& registers, const Step& step, Mask lanes);
/// extra: of Program::refusals. @throws Unsupported
void run_refused(Registers& registers, const Step& step, Mask lanes);
/// Of a register of 4 or 8 bytes: warp instructions of the block so far, shifted right by immediate.
Handler clock_handler(unsigned bytes);

}  // namespace warploom::sim
