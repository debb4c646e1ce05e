# Writes the entries of call_watch.c: a function of the same name before each function in SYMBOLS, and the table of names.
file(STRINGS "${SYMBOLS}" symbols REGEX "^synfire_")
set(entries "")
set(names "")
set(index 0)
foreach(symbol IN LISTS symbols)
  string(REGEX REPLACE "@.*" "" symbol "${symbol}")
  string(APPEND entries "  .globl ${symbol}\n  .type ${symbol}, @function\n${symbol}:\n  movl $${index}, %eax\n  jmp enter\n")
  string(APPEND names "  .quad name_${index}\n")
  string(APPEND strings "name_${index}: .string \"${symbol}\"\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}" "# Made by call_watch.cmake.
  .text
${entries}
# The number of the function is in eax. Registers that may carry arguments are kept, as are eight words of the caller's stack,
# which hold those that do not fit into registers.
enter:
  push %rbp
  mov %rsp, %rbp
  push %rbx
  push %r12
  sub $192, %rsp
  mov %eax, %ebx
  mov %rdi, 0(%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  movups %xmm0, 48(%rsp)
  movups %xmm1, 64(%rsp)
  movups %xmm2, 80(%rsp)
  movups %xmm3, 96(%rsp)
  movups %xmm4, 112(%rsp)
  movups %xmm5, 128(%rsp)
  movups %xmm6, 144(%rsp)
  movups %xmm7, 160(%rsp)
  mov %ebx, %edi
  call call_watch_enter
  mov %rax, %r12
  mov 0(%rsp), %rdi
  mov 8(%rsp), %rsi
  mov 16(%rsp), %rdx
  mov 24(%rsp), %rcx
  mov 32(%rsp), %r8
  mov 40(%rsp), %r9
  movups 48(%rsp), %xmm0
  movups 64(%rsp), %xmm1
  movups 80(%rsp), %xmm2
  movups 96(%rsp), %xmm3
  movups 112(%rsp), %xmm4
  movups 128(%rsp), %xmm5
  movups 144(%rsp), %xmm6
  movups 160(%rsp), %xmm7
  test %r12, %r12
  jz 1f
  mov %r12, %rsp
1:
  push 72(%rbp)
  push 64(%rbp)
  push 56(%rbp)
  push 48(%rbp)
  push 40(%rbp)
  push 32(%rbp)
  push 24(%rbp)
  push 16(%rbp)
  mov call_watch_real@GOTPCREL(%rip), %r11
  call *(%r11,%rbx,8)
  lea -208(%rbp), %rsp
  test %r12, %r12
  jz 2f
  mov %rax, 0(%rsp)
  movups %xmm0, 16(%rsp)
  mov %ebx, %edi
  mov %eax, %esi
  call call_watch_leave
  mov 0(%rsp), %rax
  movups 16(%rsp), %xmm0
2:
  lea -16(%rbp), %rsp
  pop %r12
  pop %rbx
  pop %rbp
  ret
  .section .rodata
${strings}
  .section .data.rel.ro,\"aw\"
  .globl call_watch_names
  .hidden call_watch_names
  .balign 8
call_watch_names:
${names}
  .section .rodata
  .globl call_watch_count
  .hidden call_watch_count
  .balign 4
call_watch_count:
  .long ${index}
  .section .note.GNU-stack,\"\",@progbits
")
