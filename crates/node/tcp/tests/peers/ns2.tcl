# What a one-way ns-2 sender of 1000-byte segments sends over a path of 100 ms there and back, when
# the given packets are lost: a line for each hundredth of a second, with the segments sent in it.
# Packet 0 on the path is the SYN; each later one counts, retransmissions too.
#
#   ns ns2.tcl AGENT SINK SEGMENTS LOST...
#
# All timelines again:
#
#   grep ^TCP ns2.txt | while read -r case; do ns ns2.tcl $case; done > new.txt
puts $argv
lassign $argv agent sink segments
set lost [lrange $argv 3 end]

Agent/TCP set window_ 1000
Agent/TCP set windowInit_ 8
Agent/TCP set packetSize_ 1000
Agent/TCP set singledup_ 0
Agent/TCP set minrto_ 0.35
Agent/TCP set tcpTick_ 0.001
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set overhead_ 0
# RFC 6582 §3.2, step 3: deflation at a partial acknowledgement, and the first option at a full one.
Agent/TCP/Newreno set partial_window_deflation_ 1
Agent/TCP/Newreno set exit_recovery_fix_ 1

set ns [new Simulator]
set sender [$ns node]
set receiver [$ns node]
$ns duplex-link $sender $receiver 10Gb 50ms DropTail
$ns queue-limit $sender $receiver 1000

set losses [new ErrorModel/List]
$losses droplist $lost
$losses drop-target [new Agent/Null]
$ns link-lossmodel $losses $sender $receiver

set from [new Agent/$agent]
set to [new Agent/$sink]
$ns attach-agent $sender $from
$ns attach-agent $receiver $to
$ns connect $from $to

set trace [open "|awk {\
    \$1 == \"+\" && \$6 > 40 { at = sprintf(\"%.2f\", \$2); \
        if (at != last) { if (last) print line; line = at \":\" } \
        line = line \" \" \$11; last = at } \
    END { print line \"\\n\" }} >@stdout" w]
$ns trace-queue $sender $receiver $trace

$ns at 0.0 "$from advance $segments"
$ns at 20.0 "$ns flush-trace; close $trace; exit 0"
$ns run
