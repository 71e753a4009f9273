import { stripVTControlCharacters } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { canOpenTerminal, cleanUp, familiarJson, newHome, serveFamiliar, startAtTerminal } from './cli-process.ts'

afterEach(cleanUp)

// Without util-linux's `script` there is no terminal to be had from Node alone.
describe.skipIf(!canOpenTerminal)('at a terminal', () => {
  it('CLI-1 start serves, opens a chat at once, and stops both with /exit', async () => {
    const home = newHome()
    const terminal = startAtTerminal(['start'], { home })
    await terminal.untilShows(/is running at[\s\S]*shown only once[\s\S]*ready/)
    const status = await familiarJson(['status'], { home })
    expect(status).toMatchObject({ daemon: { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) } })
    terminal.child.stdin.write('Remember that my bike is red\r')
    await terminal.untilShows(/✓[\s\S]*store_memory[\s\S]*Noted/)
    terminal.child.stdin.write('/exit\r')
    expect(await terminal.ended).toMatchObject({ code: 0 })
    expect(await familiarJson(['status'], { home })).toMatchObject({ daemon: null, stats: { sessions: 1 } })
  })

  it('CLI-1 start joins a daemon that runs already, and leaves it running on Ctrl-C', async () => {
    const home = newHome()
    const daemon = await serveFamiliar({ home })
    const terminal = startAtTerminal(['start'], { home })
    await terminal.untilShows(new RegExp(`already running \\(process ${daemon.child.pid}\\)[\\s\\S]*ready`))
    terminal.child.stdin.write('hello\r')
    await terminal.untilShows(/Hello!/)
    terminal.child.stdin.write('\u0003')
    await terminal.untilShows(/Ctrl-C again/)
    terminal.child.stdin.write('\u0003')
    expect(await terminal.ended).toMatchObject({ code: 0 })
    expect(await familiarJson(['status'], { home })).toMatchObject({ daemon: { pid: daemon.child.pid } })
  })

  it('SESS-8 asks before a reset, and takes only a yes', async () => {
    const home = newHome()
    await serveFamiliar({ home })
    for (const [answer, code, words] of [
      ['\r', 1, 'Nothing was changed'],
      ['y\r', 0, '0 sessions archived'],
    ] as const) {
      const terminal = startAtTerminal(['reset', 'all'], { home })
      await terminal.untilShows(/Archive every session and start a new one\? \[y\/N\]/)
      terminal.child.stdin.write(answer)
      const ended = await terminal.ended
      expect(ended.code).toBe(code)
      expect(stripVTControlCharacters(ended.stdout)).toContain(words)
    }
  })

  it('CLI-1 uses colors at a terminal, and none with NO_COLOR', async () => {
    const home = newHome()
    await serveFamiliar({ home })
    expect((await startAtTerminal(['status'], { home }).ended).stdout).toContain('\u001b[1mFamiliar')
    expect((await startAtTerminal(['status'], { home, env: { NO_COLOR: '1' } }).ended).stdout).not.toContain('\u001b')
  })
})
