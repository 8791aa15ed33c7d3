# Request/reply transfers between one client and one server (work S of the comparison).
#
#   client --- R1 ===bottleneck=== R2 --- server
#
# Transfers arrive as a Poisson process whose replies load the bottleneck by `rho`; the queue
# towards the client is RED, dsRED or DropTail. dsRED with one level is RED as Floyd & Jacobson (1993)
# have it but for the sign of its drop probability; Queue/RED drops nothing early while fewer than 2
# packets wait. Prints one JSON object.

source [file join [file dirname [info script]] common.tcl]
source [file join [file dirname [info script]] transfers.tcl]

read_options {
    rho 0.8             rate_mbps 10        delay_ms 20         buffer 200
    access_mbps 1000    access_delay_us 1   queue RED           duration 100
    drain 60            seed 1              window 20000        min_rto 0.2
    overhead 0          delayed_ack 0
    min_threshold 5     max_threshold 60    max_probability 0.2 weight 0.002
    gentle 0            wait 0              mean_packet 1040
    records {}
} $argv

# The counts of the queues when arrivals end: the drain is another regime.
proc end_arrivals {} {
    global to_client to_server during_arrivals open_at_end clients
    set during_arrivals [json_object to_client [$to_client json] to_server [$to_server json]]
    set open_at_end [$clients open_transfers]
}

proc finish {} {
    global to_client to_server clients during_arrivals open_at_end
    puts [json_object \
        simulator "\"ns-[ns-version]\"" \
        parameters [options_json] \
        transfers [$clients json] \
        open_when_arrivals_end $open_at_end \
        during_arrivals $during_arrivals \
        with_drain [json_object to_client [$to_client json] to_server [$to_server json]]]
    exit 0
}

# One level, one queue, one code point for all that the server sends.
proc configure_dsred {queue} {
    global settings server client
    $queue set numQueues_ 1
    $queue setNumPrec 1
    $queue meanPktSize $settings(mean_packet)
    $queue setMREDMode WRED 0
    $queue configQ 0 0 $settings(min_threshold) $settings(max_threshold) \
        $settings(max_probability) $settings(weight)
    $queue addPHBEntry 10 0 0
    $queue addPolicyEntry [$server id] [$client id] Null 10
    $queue addPolicerEntry Null 10
}

configure_full_tcp
configure_red
Queue set limit_ 100000
seed_default_stream $settings(seed)
set ns [new Simulator]
foreach name {client left right server} {
    set $name [$ns node]
}
$ns duplex-link $client $left $settings(access_mbps)Mb $settings(access_delay_us)us DropTail
$ns duplex-link $right $server $settings(access_mbps)Mb $settings(access_delay_us)us DropTail
set class [expr {$settings(queue) eq "dsRED" ? "dsRED/edge" : $settings(queue)}]
$ns simplex-link $right $left $settings(rate_mbps)Mb $settings(delay_ms)ms $class
$ns simplex-link $left $right $settings(rate_mbps)Mb $settings(delay_ms)ms DropTail
set_buffer $right $left $settings(buffer)
set_buffer $left $right $settings(buffer)
if {$settings(queue) eq "dsRED"} {
    configure_dsred [[$ns link $right $left] queue]
}
set to_client [new QueueStatistics $right $left]
set to_server [new QueueStatistics $left $right]
open_records $settings(records)
set rate [expr {$settings(rho) * $settings(rate_mbps) * 1e6 / [reply_bits]}]
set clients [new Cloud 0 $client $server $rate $settings(duration) {1}]
$ns at $settings(duration) end_arrivals
$ns at [expr {$settings(duration) + $settings(drain)}] finish
$ns run
