import { PassThrough } from 'node:stream'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Attachment } from '../../src/protocol/api.ts'
import type { TuiMachine } from '../../src/terminal/chat/chat-machine.ts'
import type { News } from '../../src/terminal/chat/conversation.ts'
import type { TuiPartner } from '../../src/terminal/chat/daemon-partner.ts'
import { runTui } from '../../src/terminal/chat/run-tui.ts'

/** A chat that draws, on a terminal of two streams, with a partner that says what the test tells it to. */
export interface ScriptedTui {
  type(text: string): void
  tell(news: News): void
  /** All that was written to the terminal so far. */
  bytes(): string
  /** Resolves once the output since the last match contains the pattern. */
  until(pattern: RegExp): Promise<void>
  sent: { text: string; attachments: readonly Attachment[]; answers?: string }[]
  remembered: string[]
  /** Requests to the partner other than messages, in order. */
  asked: string[]
  ended: Promise<void>
  leave(): Promise<void>
}

export function openScriptedTui(
  options: {
    partner?: Partial<TuiPartner>
    machine?: Partial<TuiMachine>
    columns?: number
    rows?: number
    colours?: boolean
    clock?: Clock
  } = {},
): ScriptedTui {
  const { columns = 100, rows = 40, colours = true, clock = systemClock() } = options
  const input = new PassThrough()
  const output = Object.assign(new PassThrough(), { isTTY: true, columns, rows })
  let bytes = ''
  let seen = 0
  let look = () => {}
  output.setEncoding('utf8').on('data', (chunk: string) => {
    bytes += chunk
    look()
  })
  const sent: ScriptedTui['sent'] = []
  const remembered: string[] = []
  const asked: string[] = []
  const waiting: News[] = []
  let listen: ((news: News) => void) | undefined
  const controller = new AbortController()

  const partner: TuiPartner = {
    where: 'session main',
    async send({ text, attachments, answers }) {
      sent.push({ text, attachments, ...(answers !== undefined && { answers }) })
      return { messageId: `m${sent.length}` }
    },
    async follow(listener) {
      listen = listener
      for (const news of waiting.splice(0)) listener(news)
    },
    async stop() {
      asked.push('stop')
      return true
    },
    commands: {
      async run(line, confirm) {
        asked.push(confirm === undefined ? line : `${line} (${confirm})`)
        return { ok: true, text: `ran ${line}` }
      },
      complete: async () => ({ start: 0, candidates: [] }),
    },
    ownCommands: {},
    find: async () => [],
    approvals: async () => [],
    async answerApproval(id, { answer, scope }) {
      asked.push(`${answer} ${id} ${scope}`)
    },
    builds: {
      running: async () => [],
      async *follow() {},
      questions: async () => [],
      async answer(id, text) {
        asked.push(`answer ${id} ${text}`)
      },
      async giveSecret(id, value) {
        asked.push(`secret ${id} ${value.length}`)
      },
    },
    facts: async () => ({
      session: 'main',
      model: 'test/model',
      contextTokens: 10_000,
      windowTokens: 100_000,
      costTodayUsd: 0.5,
    }),
    context: async () => undefined,
    past: async () => [],
    ...options.partner,
  }
  const machine: TuiMachine = {
    readImage: async () => undefined,
    clipboardImage: async () => undefined,
    history: [],
    remember: (text) => void remembered.push(text),
    ...options.machine,
  }
  const ended = runTui({ input, output, partner, machine, colours, clock, signal: controller.signal })

  return {
    type: (text) => void input.write(text),
    tell: (news) => (listen ? listen(news) : void waiting.push(news)),
    bytes: () => bytes,
    until: (pattern) =>
      new Promise((resolve) => {
        look = () => {
          const found = pattern.exec(bytes.slice(seen))
          if (!found) return
          seen += found.index + found[0].length
          look = () => {}
          resolve()
        }
        look()
      }),
    sent,
    remembered,
    asked,
    ended,
    async leave() {
      controller.abort()
      await ended
    },
  }
}
