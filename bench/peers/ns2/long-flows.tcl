# Long one-way TCP flows over one bottleneck (works A and B of the comparison).
#
#   source_i --- R1 ===bottleneck=== R2 --- sink_i
#
# Flow i has the (i mod rtt_steps)-th of the propagation round trips that run from rtt_min to
# rtt_max in equal steps; its two access links share what the bottleneck's delay leaves of it.
# `noise` is the rate, per second, of Poisson datagrams from R1 to R2, which keep flows from falling
# into step. Prints one JSON object.

source [file join [file dirname [info script]] common.tcl]

read_options {
    flows 20            rate_mbps 100       delay_ms 5          buffer 1000
    access_mbps 1000    rtt_min_ms 20       rtt_max_ms 200      rtt_steps 10
    queue DropTail      tcp Newreno         delayed_ack 0       duration 60
    warmup 0            start_spread 1      seed 1              window 20000
    min_rto 0.2         overhead 0
    min_threshold 5     max_threshold 60    max_probability 0.2 weight 0.002
    gentle 0            wait 0              mean_packet 1040
    noise 0             noise_bytes 250
} $argv

proc round_trip_ms {flow} {
    global settings
    if {$settings(rtt_steps) < 2} {
        return $settings(rtt_min_ms)
    }
    set step [expr {($settings(rtt_max_ms) - $settings(rtt_min_ms)) / double($settings(rtt_steps) - 1)}]
    return [expr {$settings(rtt_min_ms) + $step * ($flow % $settings(rtt_steps))}]
}

proc add_flow {flow starts} {
    global ns settings left right senders sinks
    set from [$ns node]
    set to [$ns node]
    set access [expr {([round_trip_ms $flow] / 2.0 - $settings(delay_ms)) / 2.0}]
    if {$access < 0} {
        fail "the round trip of flow $flow is shorter than the bottleneck's"
    }
    $ns duplex-link $from $left $settings(access_mbps)Mb ${access}ms DropTail
    $ns duplex-link $right $to $settings(access_mbps)Mb ${access}ms DropTail
    route $from $left
    route $to $right
    set sender [new Agent/TCP/$settings(tcp)]
    set sink [new [sink_class $settings(tcp) $settings(delayed_ack)]]
    $ns attach-agent $from $sender
    $ns attach-agent $to $sink
    $ns connect $sender $sink
    set source [new Application/FTP]
    $source attach-agent $sender
    set start [$starts uniform 0 $settings(start_spread)]
    set timeout [Agent/TCP set rtxcur_init_]
    $ns at $start "$source start"
    $ns at [expr {$start + $timeout + 0.001}] "keep_threshold $sender $timeout"
    lappend senders $sender
}

# On/off traffic whose bursts have no length: one datagram at the end of each exponential pause.
proc add_noise {} {
    global ns settings left right
    set agent [new Agent/UDP]
    set sink [new Agent/Null]
    $ns attach-agent $left $agent
    $ns attach-agent $right $sink
    $ns connect $agent $sink
    set source [new Application/Traffic/Exponential]
    $source set packetSize_ $settings(noise_bytes)
    $source set burst_time_ 0
    $source set idle_time_ [expr {1.0 / $settings(noise)}]
    $source set rate_ 100Gb
    $source attach-agent $agent
    $ns at 0 "$source start"
}

# Routes set by hand: computing them for hundreds of nodes takes ns-2 longer than the flows do.
proc route {host router} {
    [$host get-module Manual] add-route-to-adj-node -default $router
    [$router get-module Manual] add-route-to-adj-node $host
}

# What the senders have counted so far, one list per sender:
# acknowledged packets, timeouts, window reductions, retransmitted packets.
proc counters {} {
    global senders
    set all {}
    foreach sender $senders {
        lappend all [list [$sender set ack_] [$sender set nrexmit_] \
            [$sender set ncwndcuts1_] [$sender set nrexmitpack_]]
    }
    return $all
}

proc end_warmup {} {
    global bottleneck base
    $bottleneck restart
    set base [counters]
}

proc finish {} {
    global ns settings bottleneck base
    set goodputs {}
    set timeouts 0
    set reductions 0
    set retransmitted 0
    foreach now [counters] before $base {
        foreach {acked outs cuts again} $now {acked0 outs0 cuts0 again0} $before {
            set packets [expr {$acked - $acked0}]
            lappend goodputs \
                [decimals 5 [expr {$packets * 8000 / 1e6 / ($settings(duration) - $settings(warmup))}]]
            incr timeouts [expr {$outs - $outs0}]
            incr reductions [expr {$cuts - $cuts0}]
            incr retransmitted [expr {$again - $again0}]
        }
    }
    puts [json_object \
        simulator "\"ns-[ns-version]\"" \
        parameters [options_json] \
        bottleneck [$bottleneck json] \
        timeouts $timeouts \
        fast_retransmits [expr {$reductions - $timeouts}] \
        retransmitted_packets $retransmitted \
        goodput_mbps [decimals 5 [sum $goodputs]] \
        jain_fairness [decimals 5 [jain $goodputs]] \
        mean_flow_goodput_mbps_by_rtt_ms [by_round_trip_json $goodputs] \
        flow_goodput_mbps [json_list $goodputs]]
    exit 0
}

proc by_round_trip_json {goodputs} {
    set flow 0
    foreach goodput $goodputs {
        lappend group([round_trip_ms $flow]) $goodput
        incr flow
    }
    set members {}
    foreach round_trip [lsort -real [array names group]] {
        lappend members [format %g $round_trip] \
            [decimals 5 [expr {[sum $group($round_trip)] / [llength $group($round_trip)]}]]
    }
    return [json_object {*}$members]
}

proc jain {values} {
    set squares 0.0
    foreach value $values {
        set squares [expr {$squares + $value * $value}]
    }
    return [expr {$squares > 0 ? pow([sum $values], 2) / ([llength $values] * $squares) : 1.0}]
}

configure_tcp
configure_red
Queue set limit_ 100000
seed_default_stream $settings(seed)
set ns [new Simulator]
$ns rtproto Manual
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $settings(rate_mbps)Mb $settings(delay_ms)ms $settings(queue)
$ns simplex-link $right $left $settings(rate_mbps)Mb $settings(delay_ms)ms DropTail
set_buffer $left $right $settings(buffer)
[$left get-module Manual] add-route-to-adj-node -default $right
[$right get-module Manual] add-route-to-adj-node -default $left
set bottleneck [new QueueStatistics $left $right]
set starts [random_stream $settings(seed)]
set senders {}
for {set flow 0} {$flow < $settings(flows)} {incr flow} {
    add_flow $flow $starts
}
if {$settings(noise) > 0} {
    add_noise
}
set base [counters]
if {$settings(warmup) > 0} {
    $ns at $settings(warmup) end_warmup
}
$ns at $settings(duration) finish
$ns run
