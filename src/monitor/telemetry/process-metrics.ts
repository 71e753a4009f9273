import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Metrics } from './metrics.ts'

/** How this process is doing. Delays of the event loop are watched from the first reading on: before it nobody asks. */
export function observeProcess(metrics: Pick<Metrics, 'observe'>): { close(): void } {
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined
  let lastUse = performance.eventLoopUtilization()

  metrics.observe('process.memory.usage', () => [{ value: process.memoryUsage.rss() }])
  metrics.observe('process.uptime', () => [{ value: process.uptime() }])
  metrics.observe('process.cpu.time', () => {
    const { user, system } = process.cpuUsage()
    return [
      { labels: { 'cpu.mode': 'user' }, value: user / 1e6 },
      { labels: { 'cpu.mode': 'system' }, value: system / 1e6 },
    ]
  })
  metrics.observe('nodejs.eventloop.delay.p50', () => seconds(watched().percentile(50)))
  metrics.observe('nodejs.eventloop.delay.p99', () => seconds(watched().percentile(99)))
  metrics.observe('nodejs.eventloop.delay.max', () => {
    const longest = seconds(watched().max)
    delays?.reset()
    return longest
  })
  metrics.observe('nodejs.eventloop.utilization', () => {
    const use = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(use, lastUse)
    lastUse = use
    return [{ value: utilization }]
  })

  function watched() {
    if (delays) return delays
    delays = monitorEventLoopDelay({ resolution: 20 })
    delays.enable()
    return delays
  }

  return { close: () => void delays?.disable() }
}

/** Nanoseconds to what is told; nothing before the first delay was measured. */
function seconds(nanoseconds: number): { value: number }[] {
  return nanoseconds > 0 && nanoseconds < 1e18 ? [{ value: nanoseconds / 1e9 }] : []
}
