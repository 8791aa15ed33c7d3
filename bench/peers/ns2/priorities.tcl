# Eight classes of traffic over one link with eight strict priorities.
#
#   source 0 --- \                                   / --- sink 0     first
#     ...         R1 ===bottleneck, 8 priorities=== R2      ...
#   source 7 --- /                                   \ --- sink 7     last
#
# The bottleneck is ns-2's dsRED with eight physical queues under its PRI scheduler, each drop-tail
# of `band_limit` packets; the pair of nodes names the class. `traffic` is
#   poisson    datagrams: independent Poisson processes of packets, by class `packet_bytes`,
#              which load the link by `rho`, each class the same;
#   transfers  request/reply transfers whose replies come over the bottleneck and load it by `rho`,
#              each class the same; the way of the requests is DropTail of `buffer` packets.
# Prints one JSON object. What arrives before `warmup` is not counted among the datagrams.

source [file join [file dirname [info script]] common.tcl]
source [file join [file dirname [info script]] transfers.tcl]

read_options {
    traffic poisson         rho 0.9             rate_mbps 10        delay_ms 20
    band_limit 1000         buffer 200          access_mbps 1000    access_delay_us 1
    duration 40             warmup 5            drain 20            seed 1
    packet_bytes {200 200 200 200 1000 1000 1000 1000}
    window 20000            min_rto 0.2         overhead 0          delayed_ack 0
    records {}
} $argv

set bands {0 1 2 3 4 5 6 7}

proc code_point {band} {
    return [expr {10 + $band}]
}

# The link with eight priorities, towards the sinks.
proc add_priority_link {from to} {
    global ns settings bands source_node sink_node
    $ns simplex-link $from $to $settings(rate_mbps)Mb $settings(delay_ms)ms dsRED/edge
    set_buffer $from $to 100000
    set queue [[$ns link $from $to] queue]
    $queue set numQueues_ [llength $bands]
    $queue setNumPrec 1
    $queue meanPktSize 1040
    $queue setMREDMode DROP
    $queue setSchedularMode PRI
    foreach band $bands {
        # In the mode DROP the first threshold is the limit; the others are not used.
        $queue configQ $band 0 $settings(band_limit) $settings(band_limit) 1.0
        $queue addPHBEntry [code_point $band] $band 0
        $queue addPolicyEntry [$source_node($band) id] [$sink_node($band) id] Null \
            [code_point $band]
        $queue addPolicerEntry Null [code_point $band]
    }
    return $queue
}

# A Poisson process of datagrams: on/off traffic whose every burst is one packet, sent in no time.
proc add_datagrams {band rate bytes} {
    global ns settings source_node sink_node
    set sender [new Agent/UDP]
    $sender set packetSize_ $bytes
    $sender set fid_ $band
    $ns attach-agent $source_node($band) $sender
    set receiver [new Agent/Null]
    $ns attach-agent $sink_node($band) $receiver
    $ns connect $sender $receiver
    set traffic [new Application/Traffic/Exponential]
    $traffic use-rng [random_stream $settings(seed)]
    $traffic set packetSize_ $bytes
    $traffic set rate_ 1e15
    $traffic set burst_time_ 0
    $traffic set idle_time_ [expr {1.0 / $rate}]
    $traffic attach-agent $sender
    $ns at 0 "$traffic start"
    $ns at $settings(duration) "$traffic stop"
}

# By class: packets that arrived at the link, were dropped there, and how long the rest waited in the
# queue, from the link's trace. The delay is from source to sink, with empty access links.
proc datagrams_json {trace} {
    global settings bands
    foreach band $bands {
        array set arrived [list $band 0]
        array set dropped [list $band 0]
        set waits($band) {}
    }
    set file [open $trace]
    while {[gets $file line] >= 0} {
        lassign $line event time from to type size flags band source destination number id
        switch $event {
            + {
                if {$time >= $settings(warmup)} {
                    incr arrived($band)
                    set since($id) $time
                }
            }
            - {
                if {[info exists since($id)]} {
                    lappend waits($band) [expr {$time - $since($id)}]
                    unset since($id)
                }
            }
            d {
                if {[info exists since($id)]} {
                    incr dropped($band)
                    unset since($id)
                }
            }
        }
    }
    close $file
    set measured [expr {double($settings(duration) - $settings(warmup))}]
    set members {}
    foreach band $bands bytes $settings(packet_bytes) {
        set served [llength $waits($band)]
        set bits [expr {8.0 * $bytes}]
        set path [expr {$bits / ($settings(rate_mbps) * 1e6) + $settings(delay_ms) * 1e-3
            + 2 * ($bits / ($settings(access_mbps) * 1e6) + $settings(access_delay_us) * 1e-6)}]
        set mean [expr {$served ? [sum $waits($band)] / $served : 0}]
        lappend members band_$band [json_object \
            arrived $arrived($band) \
            delivered $served \
            loss [decimals 6 [expr {double($dropped($band)) / max($arrived($band), 1)}]] \
            mean_queue [decimals 6 [expr {$served * $mean / $measured}]] \
            delay_s [decimals 6 [expr {$path + $mean}]] \
            delay_deviation_s [decimals 6 [deviation $waits($band)]]]
    }
    return [json_object {*}$members]
}

proc deviation {values} {
    set count [llength $values]
    if {$count < 2} {
        return 0
    }
    set mean [expr {[sum $values] / $count}]
    set squares {}
    foreach value $values {
        lappend squares [expr {($value - $mean) ** 2}]
    }
    return [expr {sqrt([sum $squares] / $count)}]
}

# By class: packets of transfers that arrived at the link, and the share that was dropped.
proc losses_json {queue} {
    global bands
    set members {}
    foreach band $bands {
        set arrived [$queue getStat pkts [code_point $band]]
        set dropped [$queue getStat drops [code_point $band]]
        lappend members band_$band [json_object \
            arrived [decimals 0 $arrived] \
            dropped [decimals 0 $dropped]]
    }
    return [json_object {*}$members]
}

proc end_arrivals {} {
    global at_end bottleneck queue
    set at_end [list bottleneck [$bottleneck json] losses [losses_json $queue]]
}

proc finish {} {
    global ns settings clouds at_end trace
    set results {}
    if {$settings(traffic) eq "poisson"} {
        $ns flush-trace
        lappend results datagrams [datagrams_json $trace]
        file delete $trace
    } else {
        foreach cloud $clouds {
            lappend results band_[$cloud set name_] [$cloud json]
        }
    }
    puts [json_object \
        simulator "\"ns-[ns-version]\"" \
        parameters [options_json] \
        {*}$results \
        during_arrivals [json_object {*}$at_end]]
    exit 0
}

configure_full_tcp
Queue set limit_ 100000
seed_default_stream $settings(seed)
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
foreach band $bands {
    set source_node($band) [$ns node]
    set sink_node($band) [$ns node]
    foreach {node router} [list $source_node($band) $left $sink_node($band) $right] {
        $ns duplex-link $node $router $settings(access_mbps)Mb $settings(access_delay_us)us DropTail
    }
}
set queue [add_priority_link $left $right]
$ns simplex-link $right $left $settings(rate_mbps)Mb $settings(delay_ms)ms DropTail
set_buffer $right $left $settings(buffer)
set bottleneck [new QueueStatistics $left $right]
set share [expr {$settings(rho) / [llength $bands]}]
if {$settings(traffic) eq "poisson"} {
    set trace priorities.[pid].tr
    set file [open $trace w]
    $ns trace-queue $left $right $file
    foreach band $bands bytes $settings(packet_bytes) {
        add_datagrams $band [expr {$share * $settings(rate_mbps) * 1e6 / (8.0 * $bytes)}] $bytes
    }
    $ns at $settings(warmup) "$bottleneck restart"
} else {
    open_records $settings(records)
    set clouds {}
    foreach band $bands {
        lappend clouds [new Cloud $band $sink_node($band) $source_node($band) \
            [expr {$share * $settings(rate_mbps) * 1e6 / [reply_bits]}] $settings(duration) {1}]
    }
}
$ns at $settings(duration) end_arrivals
$ns at [expr {$settings(duration) + $settings(drain)}] finish
$ns run
