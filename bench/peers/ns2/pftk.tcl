# One long one-way TCP flow over a link that loses each data packet with probability `loss`,
# independently; nothing queues. Prints one JSON object.

source [file join [file dirname [info script]] common.tcl]

read_options {
    tcp Newreno         loss 0.01           rtt_ms 100          rate_mbps 1000
    min_rto 0.2         delayed_ack 0       duration 3000       warmup 20
    seed 1              window 20000        overhead 0
} $argv

proc note_start {} {
    global sender start
    foreach counter {ack_ ndatapack_ nrexmit_ ncwndcuts1_ nrexmitpack_} {
        set start($counter) [$sender set $counter]
    }
}

proc since_start {counter} {
    global sender start
    return [expr {[$sender set $counter] - $start($counter)}]
}

proc finish {} {
    global settings
    set seconds [expr {$settings(duration) - $settings(warmup)}]
    puts [json_object \
        simulator "\"ns-[ns-version]\"" \
        parameters [options_json] \
        goodput_pps [decimals 4 [expr {[since_start ack_] / double($seconds)}]] \
        send_rate_pps [decimals 4 [expr {[since_start ndatapack_] / double($seconds)}]] \
        timeouts [since_start nrexmit_] \
        fast_retransmits [expr {[since_start ncwndcuts1_] - [since_start nrexmit_]}] \
        retransmitted_packets [since_start nrexmitpack_]]
    exit 0
}

configure_tcp
Queue set limit_ 100000
seed_default_stream $settings(seed)
set ns [new Simulator]
set from [$ns node]
set to [$ns node]
$ns duplex-link $from $to $settings(rate_mbps)Mb [expr {$settings(rtt_ms) / 2.0}]ms DropTail
set errors [new ErrorModel]
$errors set rate_ $settings(loss)
$errors unit pkt
$errors ranvar [new RandomVariable/Uniform]
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $from $to
set sender [new Agent/TCP/$settings(tcp)]
set sink [new [sink_class $settings(tcp) $settings(delayed_ack)]]
$ns attach-agent $from $sender
$ns attach-agent $to $sink
$ns connect $sender $sink
set source [new Application/FTP]
$source attach-agent $sender
$ns at 0 "$source start"
$ns at $settings(warmup) note_start
$ns at $settings(duration) finish
$ns run
