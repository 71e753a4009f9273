import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canOpenTerminal, startAtTerminal } from '../e2e/cli-process.ts'
import { openHostileScene, say } from './hostile-scene.ts'
import { hostileNames, hostileStrings, unsafeIn } from './hostile-strings.ts'
import { runCommand } from './run-command.ts'

/** Typed and piped input. The marks must be in the output, which shows that it passed through. */
interface Case {
  args: string[]
  input?: string
  /** How many of the hostile texts are shown, at least. */
  shows: number
}

// It moves the cursor and clears what is under it.
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for.
const readlinesOwn = /\u001b\[(?:\d+G|0J|\?2004[hl])/g

describe('hostile text', () => {
  let scene: Awaited<ReturnType<typeof openHostileScene>>
  beforeAll(async () => {
    scene = await openHostileScene()
  }, 60_000)
  afterAll(() => scene.close())

  // Control characters that a command line can contain, without shell syntax.
  const hostileName = () => hostileNames[3]?.text ?? ''
  const cases: Record<string, () => Case> = {
    send: () => ({ args: ['send', '-m', say.text, '-s', 'sent'], shows: 700 }),
    'send, and the model fails': () => ({ args: ['send', '-m', say.fail, '-s', 'sent'], shows: 0 }),
    'send with a tool': () => ({ args: ['send', '-m', say.tool, '-s', 'sent'], shows: 700 }),
    'chat in a pipe': () => ({ args: ['chat', '-s', 'piped'], input: `${say.text}\n${say.tool}\n`, shows: 700 }),
    history: () => ({ args: ['history', 'main', '--full'], shows: 700 }),
    'history of a session with a hostile name': () => ({ args: ['history', hostileName()], shows: 1 }),
    log: () => ({ args: ['log', '-s', 'main'], shows: 1 }),
    sessions: () => ({ args: ['sessions', '--all'], shows: 30 }),
    context: () => ({ args: ['context', 'main'], shows: 0 }),
    'memory list': () => ({ args: ['memory', 'list', '-n', '200'], shows: 50 }),
    'memory search': () => ({ args: ['memory', 'search', 'safe', 'EVIL', '--explain'], shows: 1 }),
    'memory show': () => ({ args: ['memory', 'show', scene.memoryId], shows: 5 }),
    'tools list': () => ({ args: ['tools', 'list', '--all'], shows: 0 }),
    'tools show': () => ({ args: ['tools', 'show', 'mail'], shows: 0 }),
    'tools logs': () => ({ args: ['tools', 'logs', 'probe'], shows: 0 }),
    'caps list': () => ({ args: ['caps', 'list'], shows: 1 }),
    'caps show': () => ({ args: ['caps', 'show', 'greeter'], shows: 1 }),
    'caps builds': () => ({ args: ['caps', 'builds'], shows: 1 }),
    approvals: () => ({ args: ['approvals'], shows: 1 }),
    'skills list': () => ({ args: ['skills', 'list'], shows: 0 }),
    'skills show': () => ({ args: ['skills', 'show', 'guide'], shows: 0 }),
    'schedule list': () => ({ args: ['schedule', 'list', '--all'], shows: 1 }),
    'file list': () => ({ args: ['file', 'list', 'letters'], shows: 30 }),
    'file read': () => ({ args: ['file', 'read', 'letters/all.txt'], shows: 700 }),
    monitor: () => ({ args: ['monitor'], shows: 1 }),
    status: () => ({ args: ['status'], shows: 0 }),
    cost: () => ({ args: ['cost'], shows: 0 }),
    doctor: () => ({ args: ['doctor'], shows: 0 }),
    'an unknown command': () => ({ args: [hostileName()], shows: 1 }),
    'an unknown option': () => ({ args: ['send', `--${hostileName()}`], shows: 1 }),
    'a session that is not there': () => ({ args: ['history', `no ${hostileName()}`], shows: 1 }),
    'a file that is not there': () => ({ args: ['file', 'read', `letters/no ${hostileName()}`], shows: 0 }),
  }

  for (const [name, make] of Object.entries(cases)) {
    it(`SEC-10 ${name}: nothing of it reaches a pipe, a terminal or a program`, async () => {
      const { args, input = '', shows } = make()
      const { home } = scene
      for (const isTerminal of [false, true]) {
        for (const more of [[], ['--json']]) {
          const written = await runCommand([...args, ...more], { home, isTerminal, input })
          const whole = written.stdout + written.stderr
          expect(unsafeIn(whole, { isTerminal }), `${args.join(' ')} ${more} terminal=${isTerminal}`).toEqual([])
          const marks = hostileStrings.filter(({ mark }) => whole.includes(mark))
          expect(marks.length, `${more} ${whole.slice(0, 300)}`).toBeGreaterThanOrEqual(shows)
        }
      }
    })
  }

  it.skipIf(!canOpenTerminal)('SEC-10 at a real terminal nothing of it arrives, not even in a question', async () => {
    const { home } = scene
    const shown = await startAtTerminal(['history', 'main', '--full'], { home, input: '' }).ended
    expect(shown.stdout).toContain(hostileStrings.at(-1)?.mark)
    expect(unsafeIn(shown.stdout, { isTerminal: true })).toEqual([])
    const asked = startAtTerminal(['reset', hostileName()], { home })
    await asked.untilShows(/\[y\/N\]/)
    asked.child.stdin.write('n\r')
    await asked.ended
    const question = asked.stdout().replaceAll(readlinesOwn, '')
    expect(question).toContain(hostileNames[3]?.mark)
    expect(unsafeIn(question.split('[y/N]')[0] ?? '', { isTerminal: true })).toEqual([])
  })

  it('SEC-10 a log holds all of it, and no control character', () => {
    for (const { text } of hostileStrings) scene.logger.warn(text, { [text]: text, error: new Error(text) })
    const log = scene.log()
    expect(unsafeIn(log)).toEqual([])
    expect(hostileStrings.filter(({ mark }) => !log.includes(mark))).toEqual([])
    for (const line of log.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: expect.any(String) })
  })
})
