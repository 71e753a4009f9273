import { type StepName, stepNames } from '../../src/agent/next-step.ts'
import { type BuildStepName, buildStepNames } from '../../src/custom-tools/builder/create-builds.ts'
import { startDaemon } from '../../src/daemon/daemon.ts'

/** A daemon that kills itself at a step of a build or of a turn. Says one line of JSON when it is ready. */
const { CRASH_HOME = '', CRASH_PORT = '0', CRASH_STEP, CRASH_PASSING } = process.env
const passings = new Map<string, number>([...stepNames, ...buildStepNames].map((name) => [name, 0]))

function pass(name: StepName | BuildStepName): void {
  const passing = (passings.get(name) ?? 0) + 1
  passings.set(name, passing)
  // Not an exit: nothing is flushed, closed or reported, and no line of ours runs after this one.
  if (name === CRASH_STEP && passing === Number(CRASH_PASSING)) process.kill(process.pid, 'SIGKILL')
}

const started = await startDaemon({
  home: CRASH_HOME,
  env: process.env,
  port: Number(CRASH_PORT),
  onStep: pass,
  onBuildStep: pass,
})

if (!started.ok) {
  console.error(JSON.stringify(started))
  process.exitCode = 1
} else {
  const { daemon } = started
  console.log(JSON.stringify({ url: daemon.url }))
  process.once('SIGTERM', () => void daemon.close(0))
}
