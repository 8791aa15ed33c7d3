"""Theory against values known from papers, by hand, or as a limit."""

import math
import unittest

import queueing
import red
import sizes
import slow_start
import tcp_loss


class Queues(unittest.TestCase):
    def test_priorities_wait_as_table_1_of_guo_et_al_says(self) -> None:
        # Service times of 1, and a rest of 1 found by an arrival: sizes whose E[X²] is 2 / 0.95.
        one = sizes.Service(mean=1.0, square=2 / 0.95)
        waits = queueing.cobham([0.1] * 7 + [0.25], [one] * 8)
        table = [1.11, 1.39, 1.79, 2.38, 3.33, 5.0, 8.33, 66.7]
        for wait, printed in zip(waits, table):
            self.assertAlmostEqual(wait / printed, 1, delta=0.003)

    def test_one_class_of_priorities_is_first_come_first_served(self) -> None:
        fifo = queueing.first_come_first_served(0.8, "200*11 3200*4", 1)["wait_s"]
        alone = queueing.priorities([0.8], ["200*11 3200*4"], 1, 0)["class1.delay_s"]
        self.assertAlmostEqual(alone - 0.008, fifo)

    def test_whole_exponential_sizes_have_nearly_twice_the_square_of_constant_ones(self) -> None:
        mean, square = sizes.moments("exponential 1000")
        self.assertAlmostEqual(mean, 1000, delta=0.001)
        self.assertAlmostEqual(square / 1000**2, 2, delta=1e-5)

    def test_a_buffer_of_nothing_loses_as_erlang_says(self) -> None:
        self.assertAlmostEqual(queueing.finite_buffer(1.0, 0, "1000", 1)["loss"], 0.5)

    def test_a_long_buffer_is_as_good_as_none(self) -> None:
        ample = queueing.finite_buffer(0.5, 100, "exponential 1000", 1)
        endless = queueing.first_come_first_served(0.5, "exponential 1000", 1)
        self.assertAlmostEqual(ample["wait_s"], endless["wait_s"], places=6)


class Red(unittest.TestCase):
    def test_uniform_drops_are_half_of_one_over_p_and_one_apart(self) -> None:
        mean, variance = red.distance(0.1, "uniform")
        self.assertAlmostEqual(mean, 5.5)  # 1 to 10, each as likely
        self.assertAlmostEqual(variance, 8.25)

    def test_waiting_drops_leave_one_over_p_packets_alone(self) -> None:
        mean, variance = red.distance(0.1, "wait")
        self.assertAlmostEqual(mean, 14.5)  # 10 to 19, each as likely
        self.assertAlmostEqual(variance, 8.25)

    def test_drops_at_every_packet_leave_an_empty_queue(self) -> None:
        queue = red.spaced_queue(0.5, 1.0)
        self.assertAlmostEqual(queue.loss, 1.0)
        self.assertAlmostEqual(queue.empty, 1.0)

    def test_rare_drops_leave_m_m_1(self) -> None:
        queue = red.spaced_queue(0.5, 0.02)
        self.assertAlmostEqual(queue.loss, 1 / 25.5)
        load = 0.5 * (1 - queue.loss)
        self.assertAlmostEqual(queue.mean, load**2 / (1 - load), delta=0.005)

    def test_spaced_drops_leave_a_shorter_queue_than_drops_by_chance(self) -> None:
        queue = red.spaced_queue(1.0, 1 / 15)
        self.assertAlmostEqual(queue.loss, 1 / 8)  # 1 to 15 packets apart, 8 on average
        by_chance = 0.875**2 / 0.125  # M/M/1 at a load of 7/8
        self.assertTrue(0.8 * by_chance < queue.mean < by_chance, queue)

    def test_the_root_of_a_line_is_found(self) -> None:
        self.assertAlmostEqual(red.root(lambda x: 3 - x, 0, 10), 3)


class RandomLoss(unittest.TestCase):
    def test_one_per_cent_worked_out_by_hand(self) -> None:
        # W = 1 + √(8·0.99/0.03 + 1) = 17.279, Q = 0.2105, B = 116.49 / 1.178744.
        self.assertAlmostEqual(tcp_loss.mean_window(0.01, 1), 17.279, places=3)
        self.assertAlmostEqual(tcp_loss.timeout_share(0.01, 17.279), 0.2105, places=4)
        self.assertAlmostEqual(tcp_loss.send_rate(0.01, 0.1, 1.0, 1), 98.83, places=2)

    def test_light_loss_approaches_the_square_root_law(self) -> None:
        for b in (1, 2):
            law = math.sqrt(1.5 / (b * 1e-6)) / 0.1  # Mathis, Semke, Mahdavi & Ott (1997)
            self.assertAlmostEqual(tcp_loss.send_rate(1e-6, 0.1, 1.0, b) / law, 1, delta=0.01)


class SlowStart(unittest.TestCase):
    def times(self, window: int, every: int, delay: int = 20) -> list[int]:
        packets = [1, 2, 3, 5, 91]
        figures = slow_start.completion_times(packets, window, every, delay)
        return [round(seconds * 1e9) for seconds in figures.values()]

    def test_one_segment_there_and_one_back_take_81_794_560_ns(self) -> None:
        # Short packets 20 034 640 ns, full ones 20 850 640; the request waits 24 000 ns behind
        # the acknowledgement: 2 · 20 034 640 + 20 850 640 + 24 000 + 20 850 640.
        self.assertEqual(self.times(2, 1)[0], 81_794_560)

    def test_a_second_round_takes_a_full_and_a_short_packet_more(self) -> None:
        round_trip = 20_850_640 + 20_034_640
        one, two, three, five, _ = self.times(2, 1)
        self.assertEqual((two - one, three - one, five - three), (832_000, round_trip, 2 * 832_000))

    def test_ninety_one_packets_need_six_rounds_of_slow_start(self) -> None:
        # 2, 4, 8, 16, 32 and 29 packets: five rounds, then the 29th packet of the last.
        one, *_, last = self.times(2, 1)
        self.assertEqual(last - one, 5 * (20_850_640 + 20_034_640) + 28 * 832_000)

    def test_a_lone_packet_is_acknowledged_after_100_ms(self) -> None:
        at_once, late = self.times(1, 1), self.times(1, 2)
        self.assertEqual(at_once[0], late[0])
        self.assertEqual(late[1] - at_once[1], 100_000_000)


class Root(unittest.TestCase):
    def test_it_is_where_a_falling_function_is_zero(self) -> None:
        self.assertAlmostEqual(red.root(lambda x: 2 - x * x, 0, 2), 2**0.5, places=11)
        self.assertAlmostEqual(red.root(lambda x: 1e-3 - x, 0, 50), 1e-3, places=14)


if __name__ == "__main__":
    unittest.main()
