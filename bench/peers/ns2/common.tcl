# What all scripts here share: options, random streams, queue statistics, summaries, JSON.

# Packets carry only the headers that are used: with all of ns-2's, clearing them takes half the time.
remove-all-packet-headers
add-packet-header IP TCP Flags RTP

# Reads "-name value ..." over the defaults into the global array `settings`; refuses unknown names.
proc read_options {defaults words} {
    global settings
    array set settings $defaults
    if {[llength $words] % 2} {
        fail "an option lacks its value: $words"
    }
    foreach {name value} $words {
        set name [string trimleft $name -]
        if {![info exists settings($name)]} {
            fail "unknown option -$name; known: [lsort [array names settings]]"
        }
        set settings($name) $value
    }
}

proc fail {message} {
    puts stderr "error: $message"
    exit 2
}

# A stream of random numbers for one purpose and seed. Seeds choose substreams of one generator:
# seeding MRG32k3a with 1, 2, 3 ... instead would give streams that are multiples of one another.
proc random_stream {seed} {
    set stream [new RNG]
    for {set i 0} {$i < $seed} {incr i} {
        $stream next-substream
    }
    return $stream
}

# The default stream serves ns-2's own draws: drops, error models, clock phases, -overhead.
proc seed_default_stream {seed} {
    global defaultRNG
    for {set i 0} {$i < $seed} {incr i} {
        $defaultRNG next-substream
    }
}

# Lets `packets` wait for a link, not counting the one being sent. DropTail refuses a packet that would
# bring its queue to the limit; all other queues hold as many as the limit says.
proc set_buffer {from to packets} {
    set ns [Simulator instance]
    if {[[[$ns link $from $to] queue] info class] eq "Queue/DropTail"} {
        incr packets
    }
    $ns queue-limit $from $to $packets
}

# Statistics of a queue. Counters read from Tcl are 32-bit, so only packets are counted, not bytes.
Class QueueStatistics

QueueStatistics instproc init {from to} {
    $self instvar ns_ monitor_
    set ns_ [Simulator instance]
    set monitor_ [$ns_ monitor-queue $from $to ""]
    $self restart
}

# Forgets what happened so far (end of a warm-up).
QueueStatistics instproc restart {} {
    $self instvar ns_ monitor_ since_ forwarded_ dropped_ area_
    set since_ [$ns_ now]
    set forwarded_ [$monitor_ set pdepartures_]
    set dropped_ [$monitor_ set pdrops_]
    set area_ [$self area]
}

QueueStatistics instproc area {} {
    $self instvar ns_ monitor_
    set integrator [$monitor_ get-pkts-integrator]
    $integrator newpoint [$ns_ now] [$monitor_ set pkts_]
    return [$integrator set sum_]
}

# Packets forwarded, packets dropped and the mean number waiting (not counting the one in service).
QueueStatistics instproc json {} {
    $self instvar ns_ monitor_ since_ forwarded_ dropped_ area_
    set elapsed [expr {[$ns_ now] - $since_}]
    return [json_object \
        forwarded [expr {[$monitor_ set pdepartures_] - $forwarded_}] \
        dropped [expr {[$monitor_ set pdrops_] - $dropped_}] \
        mean_queue [decimals 3 [expr {$elapsed > 0 ? ([$self area] - $area_) / $elapsed : 0.0}]]]
}

# Sets RED as Floyd & Jacobson (1993) describe it, in packets, from the options min_threshold,
# max_threshold, max_probability, weight, gentle and wait.
proc configure_red {} {
    global settings
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set thresh_ $settings(min_threshold)
    Queue/RED set maxthresh_ $settings(max_threshold)
    Queue/RED set linterm_ [expr {1.0 / $settings(max_probability)}]
    Queue/RED set q_weight_ $settings(weight)
    Queue/RED set gentle_ $settings(gentle)
    Queue/RED set wait_ $settings(wait)
    Queue/RED set mean_pktsize_ $settings(mean_packet)
}

# TCP as both peers and the era preset "ns2-2002" have it.
proc configure_tcp {} {
    global settings
    Agent/TCP set packetSize_ 1000
    Agent/TCP set tcpip_base_hdr_size_ 40
    Agent/TCP set windowInit_ 2
    Agent/TCP set window_ $settings(window)
    Agent/TCP set maxcwnd_ 0
    Agent/TCP set singledup_ 1
    Agent/TCP set windowOption_ 1
    Agent/TCP set slow_start_restart_ false
    Agent/TCP set rtxcur_init_ 3.0
    Agent/TCP set minrto_ $settings(min_rto)
    Agent/TCP set maxrto_ 60
    Agent/TCP set tcpTick_ 0.01
    Agent/TCP set timestamps_ false
    Agent/TCP set overhead_ $settings(overhead)
    Agent/TCP/Newreno set exit_recovery_fix_ 1
}

# Sets a one-way sender's slow-start threshold back to the receive window, its first value, as often
# as the SYN is lost: ns-2 takes a lost SYN for a sign of congestion and starts at a threshold of two
# packets. `timeout` is what the SYN's timer ran for; this is called just after it.
proc keep_threshold {sender timeout} {
    global ns settings
    if {[$sender set ack_] >= 0} {
        return
    }
    $sender set ssthresh_ $settings(window)
    set timeout [expr {min(2 * $timeout, [Agent/TCP set maxrto_])}]
    $ns at [expr {[$ns now] + $timeout}] "keep_threshold $sender $timeout"
}

# The sink that a one-way sender needs.
proc sink_class {tcp delayed_ack} {
    set class Agent/TCPSink
    if {$tcp eq "Sack1"} {
        append class /Sack1
    }
    if {$delayed_ack} {
        append class /DelAck
    }
    return $class
}

proc decimals {places number} {
    return [format %.${places}f $number]
}

proc sum {values} {
    return [expr [join [concat 0 $values] +]]
}

# The value below or at which a fraction of the values lies (nearest rank).
proc quantile {sorted fraction} {
    set rank [expr {int(ceil($fraction * [llength $sorted]))}]
    return [lindex $sorted [expr {max($rank, 1) - 1}]]
}

# Count, mean and percentiles of a list of seconds.
proc summary_json {values} {
    if {![llength $values]} {
        return [json_object n 0]
    }
    set sorted [lsort -real $values]
    return [json_object \
        n [llength $sorted] \
        mean [decimals 6 [expr {[sum $sorted] / double([llength $sorted])}]] \
        median [decimals 6 [quantile $sorted 0.5]] \
        p95 [decimals 6 [quantile $sorted 0.95]] \
        p99 [decimals 6 [quantile $sorted 0.99]]]
}

# A JSON object of names and values; the values are JSON already.
proc json_object {args} {
    set members {}
    foreach {name value} $args {
        lappend members "\"$name\": $value"
    }
    return "{[join $members {, }]}"
}

proc json_list {values} {
    return "\[[join $values {, }]\]"
}

# The options of this run: numbers as they are, everything else as text.
proc options_json {} {
    global settings
    set members {}
    foreach name [lsort [array names settings]] {
        set value $settings($name)
        if {![string is double -strict $value]} {
            set value "\"$value\""
        }
        lappend members $name $value
    }
    return [json_object {*}$members]
}
