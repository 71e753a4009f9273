import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '../../../src/protocol/messages.ts'
import { checkCall, keyboardSchema } from './check-call.ts'
import { type AskedCall, createFaults, type Fault, type FaultRule } from './fault.ts'
import { type CallBody, readCall, type SentFile } from './read-call.ts'
import { createUpdateQueue, type Update } from './update-queue.ts'

/** A call as it came, whatever became of it. */
export interface RecordedCall extends AskedCall {
  parameters: Record<string, Json>
  files: Record<string, SentFile>
  /** By the fake's own clock. */
  at: number
  /** The outcome: `done`, the kind of the fault, or `invalid` if Telegram would reject it. */
  became: 'done' | 'invalid' | Fault['kind']
}

/** The messages of a chat as shown, in order. */
export interface SentMessage {
  messageId: number
  chatId: number
  method: string
  /** The text, or the caption. */
  text: string
  entities: Json[]
  buttons: { text: string; data?: string; url?: string }[]
  files: Record<string, SentFile>
  at: number
}

/** A server of the Bot API over a real socket. It is strict where Telegram is. */
export interface FakeTelegram {
  apiRoot: string
  token: string
  bot: { id: number; username: string }
  /** Every call, in order. */
  calls: readonly RecordedCall[]
  /** Everything that was sent to any chat, in order. */
  sent: readonly SentMessage[]
  chat(chatId: number): SentMessage[]
  /** Hands in an update; its number is given here. */
  push(content: Record<string, Json>): Update
  /** A private message; returns its id in the chat. `more` goes into the message. */
  say(chatId: number, text: string, more?: Record<string, Json>): number
  /** Presses a button of a message that was sent. */
  press(chatId: number, data: string, messageId?: number): string
  /** A file that can be fetched under this id. */
  addFile(fileId: string, data: Uint8Array, name?: string): void
  fail(rule: FaultRule): void
  /** Asked for each call that no rule of `fail` is for. */
  failBy(decide: (call: AskedCall) => Fault | undefined): void
  healthy(): void
  /** The confirmed updates (the newest `count`) come once more, with their old numbers. */
  replay(count?: number): void
  reorderBy(order: ((updates: Update[]) => Update[]) | undefined): void
  /** From now on numbers begin here; what waits is renumbered. */
  renumber(from: number): void
  waitingUpdates(): number
  confirmedUpdates(): readonly Update[]
  /** Resolves once the condition holds, looked at after each call; rejects after ten seconds. */
  until(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

export async function startFakeTelegram(
  options: { token?: string; username?: string; port?: number; now?: () => number } = {},
): Promise<FakeTelegram> {
  const { token = '4242:fake-token-for-tests', username = 'familiar_test_bot', now = Date.now } = options
  const bot = { id: Number(token.split(':')[0]), username }
  const calls: RecordedCall[] = []
  const sent: SentMessage[] = []
  const files = new Map<string, { data: Uint8Array; path: string }>()
  const faults = createFaults()
  const updates = createUpdateQueue()
  const messageIds = new Map<number, number>()
  const conditions = new Set<() => void>()
  let queries = 0
  let poll: { end: (error?: string) => void; look: () => void } | undefined

  const nextMessageId = (chatId: number) => {
    const id = (messageIds.get(chatId) ?? 0) + 1
    messageIds.set(chatId, id)
    return id
  }
  const changed = () => {
    for (const look of [...conditions]) look()
  }

  const server = createServer(async (request, response) => {
    const [, path = ''] = (request.url ?? '').split(`/bot${token}/`)
    if (request.url?.startsWith('/file/')) return sendFile(decodeURIComponent(path), response)
    if (path === '') return refuse(response, { code: 401, description: 'Unauthorized' })
    const method = path
    const body = await readCall(request).catch(() => undefined)
    if (!body) return
    const chatId = body.parameters.chat_id === undefined ? null : Number(body.parameters.chat_id)
    const fault = faults.next({ method, chatId })
    const invalid = fault && fault.kind !== 'drop' ? undefined : checkCall(method, body)
    const became = fault?.kind ?? (invalid === undefined ? 'done' : 'invalid')
    calls.push({ method, chatId, ...body, at: now(), became })
    if (fault && fault.kind !== 'drop') spoil(response, fault)
    else if (invalid !== undefined) refuse(response, { code: 400, description: `Bad Request: ${invalid}` })
    else if (method === 'getUpdates') answerPoll(body, response, fault)
    else {
      const result = perform(method, body, chatId)
      if (fault) response.socket?.destroy()
      else answer(response, result)
    }
    changed()
  })

  function perform(method: string, { parameters, files: given }: CallBody, chatId: number | null): Json {
    if (method === 'getMe') return { ...bot, is_bot: true, first_name: 'Familiar' }
    if (method === 'getFile') {
      const fileId = String(parameters.file_id)
      const file = files.get(fileId)
      return file
        ? { file_id: fileId, file_unique_id: fileId, file_size: file.data.length, file_path: file.path }
        : null
    }
    if (method === 'editMessageReplyMarkup') {
      const edited = sent.find((one) => one.chatId === chatId && one.messageId === parameters.message_id)
      if (edited) edited.buttons = buttonsOf(parameters.reply_markup)
    }
    if (!/^send(?:Message|Photo|Document|Voice|Audio)$/.test(method) || chatId === null) return true
    const messageId = nextMessageId(chatId)
    sent.push({
      messageId,
      chatId,
      method,
      text: String(parameters.text ?? parameters.caption ?? ''),
      entities: listOf(parameters.entities ?? parameters.caption_entities),
      buttons: buttonsOf(parameters.reply_markup),
      files: given,
      at: now(),
    })
    return { message_id: messageId, date: Math.floor(now() / 1_000), chat: { id: chatId, type: 'private' } }
  }

  function answerPoll({ parameters }: CallBody, response: ServerResponse, fault: Fault | undefined): void {
    const numbered = (value: Json | undefined, usual: number) => (typeof value === 'number' ? value : usual)
    const place = { offset: numbered(parameters.offset, 0), limit: numbered(parameters.limit, 100) }
    // As Telegram does: of two pollers the earlier one is turned away.
    poll?.end('Conflict: terminated by other getUpdates request; make sure that only one bot instance is running')
    const timer = setTimeout(() => mine.end(), numbered(parameters.timeout, 0) * 1_000)
    const mine = {
      end(error?: string) {
        clearTimeout(timer)
        if (poll === mine) poll = undefined
        if (error) refuse(response, { code: 409, description: error })
        else finish(updates.take(place))
      },
      look() {
        if (response.destroyed) return
        const batch = updates.take(place)
        if (batch.length === 0) return
        clearTimeout(timer)
        if (poll === mine) poll = undefined
        finish(batch)
      },
    }
    const finish = (batch: Update[]) => {
      if (fault) response.socket?.destroy()
      else answer(response, batch)
      changed()
    }
    response.on('close', () => {
      clearTimeout(timer)
      if (poll === mine) poll = undefined
    })
    poll = mine
    mine.look()
  }

  function sendFile(path: string, response: ServerResponse): void {
    const fault = faults.next({ method: 'download', chatId: null })
    const became = fault?.kind ?? 'done'
    calls.push({ method: 'download', chatId: null, parameters: { path }, files: {}, at: now(), became })
    const file = [...files.values()].find((known) => known.path === path)
    if (fault) spoil(response, fault)
    else if (file) response.end(file.data)
    else response.writeHead(404).end()
    changed()
  }

  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const push = (content: Record<string, Json>) => {
    const update = updates.push(content)
    poll?.look()
    return update
  }
  const person = (chatId: number) => ({ id: chatId, is_bot: false, first_name: `Person ${chatId}` })

  return {
    apiRoot: `http://127.0.0.1:${port}`,
    token,
    bot,
    calls,
    sent,
    chat: (chatId) => sent.filter((message) => message.chatId === chatId),
    push,
    say(chatId, text, more = {}) {
      const messageId = nextMessageId(chatId)
      const head = { message_id: messageId, date: Math.floor(now() / 1_000) }
      const from = person(chatId)
      const said = text === '' ? {} : { text }
      push({ message: { ...head, chat: { id: chatId, type: 'private' }, from, ...said, ...more } })
      return messageId
    },
    press(chatId, data, messageId) {
      queries += 1
      const id = `query-${queries}`
      const pressed = sent.findLast(
        (known) => known.chatId === chatId && known.buttons.some((one) => one.data === data),
      )
      const message = {
        message_id: messageId ?? pressed?.messageId ?? 1,
        date: Math.floor(now() / 1_000),
        chat: { id: chatId, type: 'private' },
        text: pressed?.text ?? '',
      }
      push({ callback_query: { id, from: person(chatId), chat_instance: '1', data, message } })
      return id
    },
    addFile(fileId, data, name = `files/${fileId}`) {
      files.set(fileId, { data, path: name })
    },
    fail: faults.add,
    failBy: faults.decideBy,
    healthy: faults.clear,
    replay(count) {
      updates.replay(count)
      poll?.look()
    },
    reorderBy: updates.reorderBy,
    renumber: updates.renumber,
    waitingUpdates: updates.waiting,
    confirmedUpdates: updates.confirmed,
    until(condition) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => end(() => reject(new Error('Telegram was not asked so within ten seconds'))),
          10_000,
        )
        const end = (settle: () => void) => {
          clearTimeout(timer)
          conditions.delete(look)
          settle()
        }
        const look = () => condition() && end(resolve)
        conditions.add(look)
        look()
      })
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function answer(response: ServerResponse, result: Json): void {
  if (response.destroyed) return
  if (result === null) refuse(response, { code: 400, description: 'Bad Request: invalid file_id' })
  else response.setHeader('content-type', 'application/json').end(JSON.stringify({ ok: true, result }))
}

function spoil(response: ServerResponse, fault: Fault): void {
  if (fault.kind === 'refuse') refuse(response, fault)
  else if (fault.kind === 'garbage') response.writeHead(fault.status, { 'content-type': 'text/html' }).end(fault.body)
  else if (fault.kind === 'cut') response.socket?.destroy()
}

function refuse(
  response: ServerResponse,
  { code, description, retryAfter, moveTo }: Omit<Extract<Fault, { kind: 'refuse' }>, 'kind'>,
): void {
  if (response.destroyed) return
  const parameters = {
    ...(retryAfter !== undefined && { retry_after: retryAfter }),
    ...(moveTo !== undefined && { migrate_to_chat_id: moveTo }),
  }
  const error = { ok: false, error_code: code, description: description ?? `Refused with ${code}`, parameters }
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(error))
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

function buttonsOf(markup: Json | undefined): SentMessage['buttons'] {
  const read = keyboardSchema.safeParse(markup)
  if (!read.success) return []
  return read.data.inline_keyboard.flat().map(({ text, callback_data: data, url }) => ({
    text,
    ...(data !== undefined && { data }),
    ...(url !== undefined && { url }),
  }))
}
