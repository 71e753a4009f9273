import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../base/clock.ts'
import { formatBytes } from '../../base/text.ts'
import { type ChatReply, chat, type MessageRequestInput, sessions } from '../../protocol/api.ts'
import { home } from '../../protocol/status.ts'
import { maxAttachmentBytes, readAttachments } from '../attachments.ts'
import { createStatusLine } from '../chat/status-line.ts'
import {
  type CommandContext,
  CommandError,
  type CommandHandler,
  exitCodes,
  interrupted,
  textOrInput,
  usageError,
} from '../command.ts'
import { type ApiClient, type Connection, cliChannel, findSession, withFamiliar } from '../connect.ts'

export interface SendInput {
  words?: string[]
  message?: string
  session: string
  from?: string
  source: string
  profile?: 'full' | 'operational'
  attach?: string[]
  key?: string
  wait: boolean
}

export const send: CommandHandler<SendInput> = async (context, input) => {
  const { output, signal } = context
  const request = await toRequest(context, input)
  if (!input.wait) {
    return withFamiliar(context, (client, connection) => leave(context, client, connection, request, input.json))
  }
  const outcome = await withFamiliar(
    context,
    async (client) => {
      const reply = await ask(context, client, request)
      // Printed before closing, which may take a moment if Familiar still works for another command.
      output.report(input.json, reply, () => printReply(context, reply))
      return reply.outcome
    },
    { talks: true, endsOnAbort: true },
  )
  if (signal.aborted) throw interrupted()
  return outcome === 'completed' || outcome === 'question' ? exitCodes.fine : exitCodes.failed
}

async function toRequest(context: CommandContext, input: SendInput): Promise<MessageRequestInput> {
  const words = input.words?.join(' ') || undefined
  if (words !== undefined && input.message !== undefined) {
    throw usageError('Two messages are given.', 'Give the words or -m "TEXT", not both.')
  }
  const given = words ?? input.message
  if (given === undefined)
    throw usageError('No message given.', 'Example: familiar send "Hello", or - to read standard input.')
  const message = await textOrInput(context, given)
  if (message.trim() === '' && !input.attach) {
    throw usageError('The message is empty.', 'Example: familiar send "Hello"')
  }
  return {
    message,
    session: input.session,
    channel: cliChannel,
    source: input.source,
    // A key of our own if the caller gives none, so that a message sent again after a lost connection runs once.
    key: input.key ?? randomUUID(),
    ...(input.from !== undefined && { sender: input.from }),
    ...(input.profile && { tier: input.profile }),
    ...(input.attach && { attachments: await readAttachments(input.attach, await maxAttachmentBytes(context)) }),
  }
}

/** Sends and waits for the end of the turn, however long that takes. Ctrl-C stops the turn, not only the waiting. */
async function ask(context: CommandContext, client: ApiClient, request: MessageRequestInput): Promise<ChatReply> {
  const { signal, stderr } = context
  if (signal.aborted) throw interrupted()
  const session = request.session ?? 'main'
  const done = new AbortController()
  const cut = new AbortController()
  const stop = async () => {
    const found = await findSession(client, session)
    await client.api(sessions).stop({ id: found.id })
    // Stopping a turn takes a moment; what has not ended by then is left to itself.
    await wait(3_000, undefined, { signal: done.signal })
  }
  const onAbort = () =>
    void stop().then(
      () => cut.abort(),
      () => cut.abort(),
    )
  signal.addEventListener('abort', onAbort, { once: true })
  if (stderr.isTTY) showProgress(context, client, session, done.signal).catch(() => undefined)
  try {
    const reply = await client.api(chat).send(request, cut.signal)
    if ('outcome' in reply) return reply
    throw new CommandError('The turn waits for tools of another client.', { code: 'conflict' })
  } finally {
    signal.removeEventListener('abort', onAbort)
    done.abort()
  }
}

/** A line on the terminal that says what the turn is doing, once it takes longer than a second. */
async function showProgress(
  context: CommandContext,
  client: ApiClient,
  session: string,
  done: AbortSignal,
): Promise<void> {
  const status = createStatusLine({ stream: context.stderr, clock: systemClock(), afterMs: 1_000 })
  status.show('thinking')
  done.addEventListener('abort', () => status.clear(), { once: true })
  while (!done.aborted) {
    await wait(1_000, undefined, { signal: done })
    const turn = (await client.api(home).monitor()).turns.find(({ contact, session_id }) =>
      [contact, session_id].includes(session),
    )
    const words = {
      thinking: 'thinking',
      tools: turn?.tools.join(', ') || 'running tools',
      retry_wait: 'waiting to retry',
    }
    if (!done.aborted) status.show(turn ? words[turn.state] : 'waiting')
  }
}

/** However the turn ended, the reply says so. */
function printReply({ output }: CommandContext, reply: ChatReply): undefined {
  for (const card of reply.cards) output.print(`${card.text}\n`)
  if (reply.deliver && reply.reply) output.print(reply.reply)
  for (const { path, name, bytes } of reply.files ?? []) output.print(`${path ?? name} (${formatBytes(bytes)})`)
  if (reply.pending_question && !reply.reply.includes(reply.pending_question)) output.print(reply.pending_question)
}

async function leave(
  { output }: CommandContext,
  client: ApiClient,
  { daemon }: Connection,
  request: MessageRequestInput,
  json: boolean | undefined,
): Promise<undefined> {
  const reply = await client.api(chat).notify(request)
  output.report(json, reply, `${reply.duplicate ? 'Already received' : 'Accepted'}: ${reply.message_id}`)
  if (!daemon) output.note('Familiar is not running: it will answer when it starts (familiar serve).')
}
