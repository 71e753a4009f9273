import { type StepName, stepNames } from '../../src/agent/next-step.ts'
import { startDaemon } from '../../src/daemon/daemon.ts'
import type { DaemonRole } from '../../src/fleet/fleet.ts'
import { createCrashTools } from './crash-tools.ts'

/**
 * A daemon as it is in real life, but for two things: tools whose effects are counted outside, and a step at which it
 * kills itself. Says one line of JSON when it is ready and one when it was asked to stop.
 */
const { CRASH_HOME = '', CRASH_LEDGER = '', CRASH_PORT = '0', CRASH_STEP, CRASH_PASSING, CRASH_ROLE } = process.env
const passings = Object.fromEntries(stepNames.map((name) => [name, 0])) as Record<StepName, number>

const started = await startDaemon({
  home: CRASH_HOME,
  env: process.env,
  port: Number(CRASH_PORT),
  ...(CRASH_ROLE && { role: CRASH_ROLE as DaemonRole }),
  extraTools: createCrashTools(CRASH_LEDGER),
  onStep(name) {
    passings[name] += 1
    // Not an exit: nothing is flushed, closed or reported, and no line of ours runs after this one.
    if (name === CRASH_STEP && passings[name] === Number(CRASH_PASSING)) process.kill(process.pid, 'SIGKILL')
  },
})

if (!started.ok) {
  console.error(JSON.stringify(started))
  process.exitCode = 1
} else {
  const { daemon } = started
  console.log(JSON.stringify({ url: daemon.url, recovered: daemon.recovered }))
  // The others have taken its work over: as `familiar serve` does.
  void daemon.lost.then(() => daemon.close(0))
  process.once('SIGTERM', async () => {
    await daemon.close()
    console.log(JSON.stringify({ passings }))
  })
}
