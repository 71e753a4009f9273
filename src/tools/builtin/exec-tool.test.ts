import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toolContext } from '../../../test/support/tool-context.ts'
import { fileless, noPackages } from '../../../test/support/workbench.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/logger.ts'
import { createRunChild } from '../../base/processes.ts'
import { createEmbeddedDriver } from '../../sandbox/embedded/embedded-driver.ts'
import {
  createSandbox,
  type Sandbox,
  type SandboxCommand,
  type SandboxOutcome,
  SandboxUnavailable,
} from '../../sandbox/sandbox.ts'
import { createExecTool } from './outside-tools.ts'

let workspace: string
let commands: SandboxCommand[]
let answer: (command: SandboxCommand) => Promise<Partial<SandboxOutcome>>
let host: 'ask' | 'never'

beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'familiar-exec-')))
  commands = []
  answer = async () => ({})
  host = 'ask'
})
afterEach(() => rm(workspace, { recursive: true }))

const sandbox: Pick<Sandbox, 'run' | 'makeFolder'> = {
  async makeFolder(name) {
    const path = join(workspace, name)
    await mkdir(path, { recursive: true })
    return { path, owner: null }
  },
  async run(command) {
    commands.push(command)
    return {
      end: { kind: 'exited', code: 0 },
      stdout: new Uint8Array(),
      stderr: new Uint8Array(),
      result: new Uint8Array(),
      durationMs: 40,
      peakMemoryBytes: null,
      driver: 'embedded',
      ...(await answer(command)),
    }
  },
}

function exec() {
  return createExecTool({
    workbench: fileless({ sandbox, clock: systemClock() }),
    packagesOf: noPackages,
    withSkills: (_asked, work) => work([]),
    runChild: createRunChild({ clock: systemClock() }),
    settings: () => ({ host }),
    workspace,
    environment: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' },
  })
}

describe('exec', () => {
  it('SEC-12 runs in the sandbox by default: no network, only a scratch folder mounted, no environment', async () => {
    answer = async () => ({ stdout: Buffer.from('4\n') })
    const outcome = await exec().run({ command: 'echo $((2+2))', seconds: 5 }, toolContext())
    expect(outcome).toEqual({ text: '[exit code 0, 0.0 s]\n4', isError: false })
    expect(commands).toMatchObject([
      {
        argv: ['bash', '--noprofile', '--norc', '-c', 'echo $((2+2))'],
        environment: {},
        mounts: [{ source: join(workspace, 'scratch-session'), target: '/scratch', isWritable: true }],
        network: { kind: 'none' },
        workingDirectory: '/scratch',
        isWritable: true,
        limits: { wallMs: 5_000 },
      },
    ])
  })

  it('SEC-12 runs nowhere else without a sandbox, and says what would help', async () => {
    answer = () => Promise.reject(new SandboxUnavailable('Code does not run here', 'apt-get install bubblewrap'))
    expect(await exec().run({ command: 'touch made' }, toolContext())).toEqual({
      text: 'Code does not run here. To fix it: apt-get install bubblewrap',
      isError: true,
    })
  })

  it('SEC-6 running on the host needs approval, which can be lasting for commands that are understood', () => {
    const { reach } = exec()
    const onHost = { kind: 'host', destination: 'exec:host' }
    expect(reach({ command: 'ls' })).toEqual({ kind: 'change', destination: null })
    expect(reach({ command: 'git  log && ls "a b"', host: true })).toEqual({
      ...onHost,
      grants: ['git log', "ls 'a b'"],
    })
    expect(reach({ command: 'git log $(ls)', host: true })).toEqual({ ...onHost, grants: [] })
    host = 'never'
    expect(reach({ command: 'ls', host: true })).toEqual({ ...onHost, grants: ['ls'] })
    expect(reach({ command: 5, host: true }).kind).toBe('read')
  })

  it('running on the host is disabled by the config, effective immediately', async () => {
    const tool = exec()
    host = 'never'
    const outcome = await tool.run({ command: 'touch made', host: true }, toolContext())
    expect(outcome).toMatchObject({ isError: true, text: expect.stringContaining('[tools.exec]') })
    host = 'ask'
    expect((await tool.run({ command: 'ls', host: true }, toolContext())).text).toMatch(/^\[exit code 0, [\d.]+ s\]$/)
  })

  it('SEC-13 on the host it starts in the workspace and does not see our environment', async () => {
    const outcome = await exec().run({ command: 'pwd; env; echo oops >&2; exit 2', host: true }, toolContext())
    expect(outcome).toMatchObject({ isError: true, label: 'untrusted', isPrivate: true })
    expect(outcome.text).toContain('[exit code 2, ')
    expect(outcome.text).toContain(`\n${workspace}\n`)
    expect(outcome.text).toContain('\n[stderr]\noops')
    const variables = outcome.text.split('\n').flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? [])
    expect(variables.sort()).toEqual(['LANG', 'PATH', 'PWD', 'SHLVL', '_'])
    expect(commands).toEqual([])
  })

  it('SEC-10 sanitizes output and drops its middle', async () => {
    answer = async () => ({ stdout: Buffer.from(`first\u001b[2J${'x'.repeat(50_000)}last`) })
    const { text } = await exec().run({ command: 'x' }, toolContext())
    expect(text).toContain('firstx')
    expect(text.endsWith('last')).toBe(true)
    expect(text).toMatch(/\[… 42\d{3} characters left out …\]/)
  })

  it.each([
    [{ kind: 'timed_out' } as const, 'time limit', true],
    [{ kind: 'out_of_memory' } as const, 'memory limit', undefined],
    [{ kind: 'output_too_large', stream: 'stdout' } as const, 'output limit', undefined],
    [{ kind: 'killed', signal: 'SIGSEGV' } as const, 'killed by SIGSEGV', undefined],
  ])('reports how it ended: %o', async (end, words, timedOut) => {
    answer = async () => ({ end })
    const outcome = await exec().run({ command: 'x' }, toolContext())
    expect(outcome.isError).toBe(true)
    expect(outcome.text).toContain(words)
    expect(outcome.timedOut).toBe(timedOut)
  })
})

const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0

describe.skipIf(!hasBubblewrap)('exec in the real sandbox (needs bubblewrap)', () => {
  it('SEC-12 sees none of this machine’s files, names or network, and writes to /tmp only', async (context) => {
    const real = createSandbox(async () => [createEmbeddedDriver({ directory: workspace, logger: silentLogger })])
    if ((await real.status()).driver === null) context.skip('the sandbox does not hold on this machine')
    const tool = createExecTool({
      workbench: fileless({ sandbox: real, clock: systemClock() }),
      packagesOf: noPackages,
      withSkills: (_asked, work) => work([]),
      runChild: () => Promise.reject(new Error('not on the machine itself')),
      settings: () => ({ host: 'ask' }),
      workspace,
      environment: { CANARY: 'canary-77' },
    })
    const script = `echo "it ran: $((40+2))"; env; cat ${import.meta.filename} /etc/shadow; touch /etc/made
      exec 3<>/dev/tcp/127.0.0.1/22 && echo CONNECTED; echo kept > /tmp/file && cat /tmp/file`
    const { text } = await tool.run({ command: script }, toolContext())
    expect(text).toContain('it ran: 42')
    expect(text).toContain('kept')
    expect(text).toContain('Read-only file system')
    expect(text.match(/No such file or directory/g)).toHaveLength(2)
    expect(text).not.toMatch(/canary-77|CONNECTED|root:/)
    await real.close()
  }, 60_000)
})
