import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { parseJson } from '../../../base/json.ts'
import type { Cgroup } from '../cgroup/cgroup.ts'
import { markName } from '../janitor.ts'
import type { SandboxAccount } from '../sandbox-account.ts'
import { setReferenced } from '../world/child-reference.ts'
import { openStreams, type StreamNumbers } from '../world/streams.ts'
import type { World, WorldEnd } from '../world/world.ts'
import { forkMessage } from './fork-message.ts'
import { forkRequest } from './fork-request.ts'

/** A Python that is awake and forks a world for each script. */
export interface ForkServer {
  /** Where it cannot, the cgroup is gone, too. */
  begin(cgroup: Cgroup | undefined): Promise<World>
  /** Resolves when it is gone, however that came. */
  readonly gone: Promise<void>
  close(): Promise<void>
}

interface Call {
  begun: PromiseWithResolvers<StreamNumbers>
  ended: PromiseWithResolvers<WorldEnd>
}

/** How long a sandbox may take to end with its first process before everything in its cgroup is killed. */
const graceMs = 1_000

/** Resolves when it is ready to fork; throws where it does not come up. */
export async function startForkServer(options: {
  python: string
  program: string
  settingsFile: string
  account: SandboxAccount
  mark: string
  cgroup: Cgroup | undefined
}): Promise<ForkServer> {
  const { account } = options
  const child = spawn(options.python, [options.program, options.settingsFile], {
    ...(account.isOther ? { uid: account.uid, gid: account.gid } : {}),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: '/tmp', [markName]: options.mark },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  const calls = new Map<number, Call>()
  const ready = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  let complaints = ''
  let lastId = 0
  let isGone = false
  let running = 0

  const control = child.stdio[3] as Duplex
  for (const stream of [child.stdin, child.stdout, child.stderr, control]) stream.on('error', () => undefined)
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-2_000)
  })
  createInterface({ input: control })
    .on('line', hear)
    .on('error', () => undefined)
  child.once('error', (error) => end(error.message))
  child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`))

  function hear(line: string): void {
    const parsed = parseJson(line, forkMessage)
    if (!parsed.ok) return
    const message = parsed.value
    const call = 'id' in message ? calls.get(message.id) : undefined
    if ('ready' in message) ready.resolve()
    else if ('pipes' in message) call?.begun.resolve(message.pipes)
    else {
      calls.delete(message.id)
      const end: WorldEnd = 'code' in message ? exited(message.code) : { kind: 'broken', reason: message.broken }
      if (end.kind === 'broken') call?.begun.reject(new Error(end.reason))
      call?.ended.resolve(end)
    }
  }

  function end(how: string): void {
    isGone = true
    ready.reject(new Error(`The fork server did not come up: ${how} ${complaints}`.trim()))
    const reason = `the fork server is gone: ${how}`
    for (const call of calls.values()) {
      call.begun.reject(new Error(reason))
      call.ended.resolve({ kind: 'broken', reason })
    }
    calls.clear()
    gone.resolve()
  }

  function tell(word: object): void {
    if (!isGone) control.write(`${JSON.stringify(word)}\n`)
  }

  function setRunning(change: 1 | -1): void {
    running += change
    setReferenced(child, running > 0)
  }

  async function begin(cgroup: Cgroup | undefined): Promise<World> {
    lastId += 1
    const id = lastId
    const call: Call = { begun: Promise.withResolvers(), ended: Promise.withResolvers() }
    call.begun.promise.catch(() => undefined)

    function kill(): void {
      tell({ do: 'kill', id })
      setTimeout(() => cgroup?.kill(), graceMs).unref()
    }

    async function untilGone(): Promise<void> {
      if (calls.has(id)) {
        setRunning(1)
        kill()
        await call.ended.promise
        setRunning(-1)
      }
      await cgroup?.remove()
    }

    setRunning(1)
    try {
      if (isGone || child.pid === undefined) throw new Error('The fork server is gone')
      calls.set(id, call)
      tell({ do: 'begin', id, join: cgroup?.joinFiles ?? [] })
      const streams = openStreams(child.pid, await call.begun.promise)
      tell({ do: 'opened', id })
      return {
        streams,
        cgroup,
        overhead: () => ({ processes: 1, memoryBytes: 0 }),
        ended: call.ended.promise,
        start(command) {
          setRunning(1)
          void call.ended.promise.then(() => setRunning(-1))
          streams.write('request', Buffer.from(JSON.stringify(forkRequest(command))))
        },
        kill,
        async dispose() {
          await untilGone()
          streams.close()
        },
      }
    } catch (cause) {
      await untilGone()
      throw cause
    } finally {
      setRunning(-1)
    }
  }

  async function close(): Promise<void> {
    setReferenced(child, true)
    child.kill('SIGKILL')
    await gone.promise
    await options.cgroup?.remove()
  }

  try {
    if (child.pid !== undefined) await options.cgroup?.add(child.pid)
    await ready.promise
  } catch (cause) {
    await close()
    throw cause
  }
  setReferenced(child, false)
  return { begin, gone: gone.promise, close }
}

function exited(code: number): WorldEnd {
  return { kind: 'exited', code }
}
