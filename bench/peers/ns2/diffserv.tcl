# The single-bottleneck DiffServ domain of Casetti & Mellia (2005), and work D of the comparison.
#
#   clients 0, 1 --- \                             / --- servers 0, 1
#                     R1 ===bottleneck, MRED=== R2
#   servers 2    --- /                             \ --- clients 2
#
# Each direction of the bottleneck is one FIFO under multi-level RED with one average for all
# colours (ns-2's dsRED in WRED mode). Cloud 0 may have a TSW2CM at each end; clouds 1 and 2 are
# best effort. One node stands for a whole cloud, because a dsRED policy meters one pair of nodes.
# A committed rate of 0 means no agreement: all best effort. Prints one JSON object.

source [file join [file dirname [info script]] common.tcl]
source [file join [file dirname [info script]] transfers.tcl]

read_options {
    alpha 0.8               rho 0.8                 rate_mbps 10
    cir_servers_kbps 6400   cir_clients_kbps 560    tsw_window 1
    delay_ms 20             buffer 200              duration 60
    drain 20                open_every 50           seed 1
    access_mbps 1000        access_delay_us 1       window 20000
    min_rto 0.2             overhead 0              delayed_ack 0
    green_min 60            green_max 140           green_probability 0.1
    yellow_min 5            yellow_max 60           yellow_probability 0.2
    weight 0.002            mean_packet 1040        records {}
} $argv

# Code points: what they are in the statistics, and which of the two RED curves serves them. Each
# cloud has its own for best effort.
set code_points {green 10 0 yellow 11 1 best_effort_0 12 1 best_effort_1 13 1 best_effort_2 14 1}

# One direction of the bottleneck. The entries list source node, destination node, committed rate in
# kbit/s and code point for best effort of all clouds that send this way.
proc add_bottleneck {from to entries} {
    global ns settings code_points
    $ns simplex-link $from $to $settings(rate_mbps)Mb $settings(delay_ms)ms dsRED/edge
    $ns queue-limit $from $to $settings(buffer)
    set queue [[$ns link $from $to] queue]
    $queue set numQueues_ 1
    $queue setNumPrec 2
    $queue meanPktSize $settings(mean_packet)
    $queue setMREDMode WRED 0
    $queue configQ 0 0 $settings(green_min) $settings(green_max) \
        $settings(green_probability) $settings(weight)
    $queue configQ 0 1 $settings(yellow_min) $settings(yellow_max) \
        $settings(yellow_probability) $settings(weight)
    foreach {name code_point curve} $code_points {
        $queue addPHBEntry $code_point 0 $curve
    }
    foreach {source destination cir best_effort} $entries {
        if {$cir > 0} {
            $queue addPolicyEntry [$source id] [$destination id] \
                TSW2CM 10 [expr {$cir * 1000}] $settings(tsw_window)
        } else {
            $queue addPolicyEntry [$source id] [$destination id] Null $best_effort
            $queue addPolicerEntry Null $best_effort
        }
    }
    $queue addPolicerEntry TSW2CM 10 11
    return $queue
}

# Packets that arrived at and were dropped by a queue since the start, by code point.
proc code_points_json {queue} {
    global code_points
    set members {}
    foreach {name code_point curve} $code_points {
        set dropped [expr {[$queue getStat drops $code_point] + [$queue getStat edrops $code_point]}]
        lappend members $name [json_object \
            arrived [decimals 0 [$queue getStat pkts $code_point]] \
            dropped [decimals 0 $dropped]]
    }
    return [json_object {*}$members]
}

proc queues_json {} {
    global to_clients to_servers to_clients_queue to_servers_queue
    return [json_object \
        to_clients [$to_clients json] \
        to_clients_by_code_point [code_points_json $to_clients_queue] \
        to_servers [$to_servers json] \
        to_servers_by_code_point [code_points_json $to_servers_queue]]
}

proc end_arrivals {} {
    global during_arrivals
    set during_arrivals [queues_json]
}

# Notes how many transfers are open, again and again.
proc note_open {} {
    global ns settings clouds open_over_time
    set counts {}
    foreach cloud $clouds {
        lappend counts cloud_[$cloud set name_] [$cloud open_transfers]
    }
    lappend open_over_time [decimals 0 [$ns now]] [json_object {*}$counts]
    $ns at [expr {[$ns now] + $settings(open_every)}] note_open
}

proc finish {} {
    global clouds open_over_time during_arrivals
    set by_cloud {}
    foreach cloud $clouds {
        lappend by_cloud cloud_[$cloud set name_] [$cloud json]
    }
    puts [json_object \
        simulator "\"ns-[ns-version]\"" \
        parameters [options_json] \
        {*}$by_cloud \
        open_at_s [json_object {*}$open_over_time] \
        during_arrivals $during_arrivals \
        with_drain [queues_json]]
    exit 0
}

configure_full_tcp
Queue set limit_ 100000
seed_default_stream $settings(seed)
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
foreach cloud {0 1 2} {
    set client($cloud) [$ns node]
    set server($cloud) [$ns node]
    foreach {node router} [list $client($cloud) [expr {$cloud == 2 ? $right : $left}] \
            $server($cloud) [expr {$cloud == 2 ? $left : $right}]] {
        $ns duplex-link $node $router $settings(access_mbps)Mb $settings(access_delay_us)us DropTail
    }
}
# "To clients" and "to servers" are meant as clouds 0 and 1 see them; cloud 2 is the other way round.
set to_clients_queue [add_bottleneck $right $left [list \
    $server(0) $client(0) $settings(cir_servers_kbps) 12 \
    $server(1) $client(1) 0 13 \
    $client(2) $server(2) 0 14]]
set to_servers_queue [add_bottleneck $left $right [list \
    $client(0) $server(0) $settings(cir_clients_kbps) 12 \
    $client(1) $server(1) 0 13 \
    $server(2) $client(2) 0 14]]
set to_clients [new QueueStatistics $right $left]
set to_servers [new QueueStatistics $left $right]
open_records $settings(records)
# 1, 2 or 3 packets in 85, 10 and 5 % of the requests (Table 1).
set requests [concat [lrepeat 17 1] [lrepeat 2 2] [lrepeat 1 3]]
set rate [expr {$settings(rho) * $settings(rate_mbps) * 1e6 / [reply_bits]}]
set clouds {}
foreach cloud {0 1 2} share [list $settings(alpha) [expr {1 - $settings(alpha)}] 1] {
    if {$share > 0} {
        lappend clouds [new Cloud $cloud $client($cloud) $server($cloud) \
            [expr {$share * $rate}] $settings(duration) $requests]
    }
}
set open_over_time {}
$ns at $settings(open_every) note_open
$ns at $settings(duration) end_arrivals
$ns at [expr {$settings(duration) + $settings(drain)}] finish
$ns run
