import { describe, expect, it } from 'vitest'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { systemClock } from './clock.ts'
import { type ChildCommand, createRunChild } from './processes.ts'

const runChild = createRunChild({ clock: systemClock() })

/** A program that only this run of this test can have started. */
const sleeper = (seconds: number) => `sleep ${seconds}.${process.pid}`

function shell(script: string, given: Partial<ChildCommand> = {}): ChildCommand {
  return {
    argv: ['/bin/sh', '-c', script],
    environment: { PATH: '/usr/bin:/bin' },
    workingDirectory: '/',
    stdin: new Uint8Array(),
    limits: { wallMs: 20_000, outputBytes: 10_000 },
    signal: new AbortController().signal,
    ...given,
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

/** Whether a process with this mark in its arguments is alive. */
async function isAlive(mark: string): Promise<boolean> {
  // The brackets keep the search from finding itself.
  const pattern = `[${mark.charAt(0)}]${mark.slice(1)}`
  const { end } = await runChild(shell(`cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q '${pattern}'`))
  return end.kind === 'exited' && end.code === 0
}

async function untilGone(mark: string): Promise<void> {
  while (await isAlive(mark)) await new Promise((resolve) => setTimeout(resolve, 20))
}

describe('createRunChild', () => {
  it('passes input and environment to the program, and nothing of ours', async () => {
    const outcome = await runChild(
      shell('cat; env; pwd; echo oops >&2; exit 3', {
        stdin: Buffer.from('in\n'),
        environment: { PATH: '/usr/bin:/bin', ONLY: 'this' },
        workingDirectory: '/usr',
      }),
    )
    expect(outcome.end).toEqual({ kind: 'exited', code: 3 })
    const lines = textOf(outcome.stdout).trim().split('\n')
    expect(lines).toEqual(expect.arrayContaining(['in', 'ONLY=this', '/usr']))
    expect(lines.filter((line) => /^(HOME|USER|VITEST)/.test(line))).toEqual([])
    expect(textOf(outcome.stderr)).toBe('oops\n')
  })

  it('reports that a program does not exist', async () => {
    const outcome = await runChild(shell('', { argv: ['no-such-program'] }))
    expect(outcome.end).toEqual({ kind: 'not_started', reason: 'ENOENT' })
  })

  it('ends a program that takes too long, with all its children', async () => {
    const clock = createManualClock()
    const running = createRunChild({ clock })(shell(`${sleeper(5451)} & ${sleeper(5451)}`))
    while (!(await isAlive(sleeper(5451)))) await new Promise((resolve) => setTimeout(resolve, 20))
    await clock.advance(20_000)
    expect((await running).end).toEqual({ kind: 'timed_out' })
    await untilGone(sleeper(5451))
  })

  it('ends background processes when the program is done', async () => {
    const outcome = await runChild(shell(`${sleeper(5452)} & echo done`))
    expect(outcome.end).toEqual({ kind: 'exited', code: 0 })
    expect(textOf(outcome.stdout)).toBe('done\n')
    await untilGone(sleeper(5452))
  })

  it('does not wait for a process that moved to another session', async () => {
    const script = `
      file=$(mktemp)
      setsid sh -c 'echo $$ > "$0"; exec ${sleeper(5454)}' "$file" &
      until [ -s "$file" ]; do :; done
      cat "$file"; rm "$file"`
    const outcome = await runChild(shell(script))
    expect(await isAlive(sleeper(5454))).toBe(true)
    process.kill(Number(textOf(outcome.stdout)), 'SIGKILL')
  })

  it("throws the signal's reason once the group is gone", async () => {
    const stopping = new AbortController()
    const running = runChild(shell(`${sleeper(5453)} & ${sleeper(5453)}`, { signal: stopping.signal }))
    while (!(await isAlive(sleeper(5453)))) await new Promise((resolve) => setTimeout(resolve, 20))
    stopping.abort(new Error('stopped'))
    await expect(running).rejects.toThrow('stopped')
    await untilGone(sleeper(5453))
  })

  it('keeps output up to the limit and ends a program that writes more', async () => {
    const outcome = await runChild(shell('yes'))
    expect(outcome.end).toEqual({ kind: 'output_too_large' })
    expect(outcome.stdout).toHaveLength(10_000)
  })
})
