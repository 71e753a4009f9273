import { randomUUID } from 'node:crypto'
import type { SandboxCommand, SandboxOutcome, SandboxProof } from '../sandbox.ts'

const limits = {
  memoryBytes: 48 * 1024 * 1024,
  processes: 12,
  wallMs: 20_000,
  outputBytes: 64 * 1024,
  scratchBytes: 1024 * 1024,
}

/**
 * Tries in containers what the driver claims. Engines take limits that they then do not keep: Podman without root on the
 * first version of control groups only warns. The programs are shell that uses nothing but the shell, so that they run
 * in every image, and each stops by itself where nothing stops it.
 */
export async function proveLimits(options: {
  run: (command: SandboxCommand) => Promise<SandboxOutcome>
  /** How the shell is started inside. */
  shell: readonly string[]
  /** How Node is. Null where it cannot be taken along. */
  node: readonly string[] | null
  /** A file of this machine that must not be there inside. */
  hiddenFile: string
  signal: AbortSignal
}): Promise<SandboxProof[]> {
  const { run, shell, node, hiddenFile, signal } = options
  const nonce = randomUUID()

  function tryOut(words: readonly string[], changed: Partial<typeof limits> = {}): Promise<SandboxOutcome> {
    const [program = '/bin/sh', ...args] = words
    return run({
      argv: [program, ...args],
      environment: { NONCE: nonce, HIDDEN: hiddenFile },
      workingDirectory: '/',
      stdin: new Uint8Array(),
      mounts: [],
      isWritable: true,
      network: { kind: 'none' },
      limits: { ...limits, ...changed },
      signal,
    })
  }

  const [world, memory, processes, time, calls] = await Promise.all([
    tryOut([...shell, '-c', worldScript]),
    tryOut([...shell, '-c', memoryScript]),
    // Some shells wait and try again for half a minute. What was started until then is what counts.
    tryOut([...shell, '-c', processesScript], { wallMs: 3_000 }),
    tryOut([...shell, '-c', 'while :; do :; done'], { wallMs: 300 }),
    node && tryOut([...node, '-e', callsScript], { memoryBytes: 256 * 1024 * 1024, processes: 32 }),
  ])
  const told = new Map([world, processes, ...(calls ? [calls] : [])].flatMap(linesOf))
  const says = (name: string) => told.get(name) ?? 'nothing'
  const prove = (name: string, isProven: boolean, detail: string): SandboxProof => ({ name, ok: isProven, detail })
  const result = new TextDecoder().decode(world.result)

  return [
    prove('run', says('nonce') === nonce && world.end.kind === 'exited', `ended as ${JSON.stringify(world.end)}`),
    prove('memory', memory.end.kind === 'out_of_memory', `past the limit the run ended as ${memory.end.kind}`),
    prove('processes', isBelow(says('processes'), limits.processes), `${says('processes')} processes could be started`),
    prove('time', time.end.kind === 'timed_out', `past its time the run ended as ${time.end.kind}`),
    prove('network', says('interfaces') === 'lo', `interfaces: ${says('interfaces')}`),
    prove('user', /^[1-9]/.test(says('Uid')), `user ids: ${says('Uid')}`),
    prove('capabilities', /^0+$/.test(says('CapBnd')) && says('NoNewPrivs') === '1', `can gain ${says('CapBnd')}`),
    prove('calls', says('Seccomp') === '2' && says('netlink') === (node ? 'closed' : 'nothing'), callsDetail(says)),
    prove('read-only root', /^ro\b/.test(says('options')) && says('run') === 'closed', `it is ${says('options')}`),
    prove('disk', says('scratch') === 'full', `past its size the writable folder was ${says('scratch')}`),
    prove('host files', says('hidden') === 'absent', `a file of this machine is ${says('hidden')}`),
    prove('result', result === nonce, result === '' ? 'nothing came through' : `${result.length} characters came`),
  ]
}

/** `name=value` on each line. */
function linesOf({ stdout }: SandboxOutcome): [string, string][] {
  const lines = new TextDecoder().decode(stdout).split('\n')
  return lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
}

function callsDetail(says: (name: string) => string): string {
  return `seccomp mode ${says('Seccomp')}; a call that only this driver's list closes: ${says('netlink')}`
}

function isBelow(text: string, limit: number): boolean {
  return /^\d+$/.test(text) && Number(text) > 0 && Number(text) < limit
}

const worldScript = `
echo nonce=$NONCE
printf %s "$NONCE" >&3
while read -r name value rest; do
  case $name in Uid:|CapBnd:|NoNewPrivs:|Seccomp:) echo "\${name%:}=$value";; esac
done < /proc/self/status
interfaces=
while read -r name rest; do
  case $name in *:*) interfaces="$interfaces \${name%%:*}";; esac
done < /proc/net/dev
echo "interfaces=\${interfaces# }"
while read -r id parent device root point options rest; do
  [ "$point" = / ] && echo "options=$options"
done < /proc/self/mountinfo
(: > /run/familiar-probe) 2>/dev/null && echo run=open || echo run=closed
[ -e "$HIDDEN" ] && echo hidden=there || echo hidden=absent
piece=0123456789abcdef
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do piece=$piece$piece; done
for i in 1 2 3; do printf %s "$piece" || full=full; piece=$piece$piece; done > /tmp/piece 2>/dev/null
echo "scratch=\${full-open}"
`

const processesScript = `
count=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
  (while :; do :; done) &
  count=$((count + 1))
  echo "processes=$count"
done 2>/dev/null
`

// Twice as much in each round, to 256 MB at most.
const memoryScript = `
piece=0123456789abcdef
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do piece=$piece$piece; done
echo survived
`

// Every engine's own list lets this through, so that it tells whose list is in force.
const callsScript = `
try { require('node:os').networkInterfaces(); console.log('netlink=open') } catch { console.log('netlink=closed') }
`
