
–	/host:CPUAMpythonè"À¨¥€•õ*" " "Àêü3€•õ*" " "	train*step_num*
_r*
process_id2 ’!
Ø/device:TPU:3(Stepsè"À±Ÿ€è’&"Àóö4€è’&.XLA Modulesè"À±Ÿ€è’&"Àóö4€è’&ÂXLA Opsè"À±Ÿ€­â" è"ÀÞ
 Â"€ã¾
€´‰"€ã¾
€ÚÄ	"€½ƒ€ÚÄ	"	€—ÈÀ¨¥"Àóö4€­â" è"À Ù9 Â"€¥–:€´‰"€¥–:€ÚÄ	"€ÿÚC€ÚÄ	"	€ÙŸMÀ¨¥0Async XLA Opsè"
ÀÞ
€áë"
À Ù9€áë"H
D
,%all-reduce.1 = f32[8] all-reduce(%fusion.3)"all-reduce-start.1"J	F	/%all-reduce-done.1 = f32[8] all-reduce-done(%s)"all-reduce-done.1"/+%fusion.5 = f32[8] fusion(%b)"fusion.5"/+%fusion.4 = f32[8] fusion(%a)"fusion.4".*%while.1 = (f32[8]) while(%t)"while.1"TP8%all-reduce-start.1 = f32[8] all-reduce-start(%fusion.3)"all-reduce-start.1">:6%fusion.3 = f32[8,128]{1,0} fusion(f32[8,128]{1,0} %p)"jit_step(5)"	8"	7*	flops
<Task Environment*profile_start_time2 €€ÎÞÕßÇô"host-a