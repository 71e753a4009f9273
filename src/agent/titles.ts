import { readBundledText } from '../base/files.ts'
import type { Logger } from '../base/logger.ts'
import { cutText, reasonOf } from '../base/text.ts'
import type { AskModel } from '../memory/learning/ask-model.ts'
import { isWorkChannel } from '../protocol/messages.ts'
import { isAutomated } from '../security/approvals.ts'
import type { TurnEnd } from './conversations.ts'
import type { SessionViews } from './sessions/open-sessions.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'

const prompt = readBundledText(new URL('./prompts/title.md', import.meta.url))

/** A message up to this length is a title as it is. */
const shortMessage = 40
const maxTitle = 80
const shownCharacters = 2_000
const firstEvents = 40

/** Short titles for conversations, by the fast model after the first answer, in the background. */
export function createTitles(dependencies: {
  views: Pick<SessionViews, 'hasTitle' | 'setGeneratedTitle'>
  log: Pick<SessionLog, 'read'>
  askModel: AskModel
  /** A fast model is set: titles are not worth a call to the model that answers. */
  isOn: () => boolean
  logger: Logger
}) {
  const { views, log, askModel, isOn, logger } = dependencies
  const stop = new AbortController()
  const running = new Map<string, Promise<void>>()

  async function write({ id, userId }: Session): Promise<void> {
    if (await views.hasTitle(id)) return
    const { events } = await log.read(id, { limit: firstEvents })
    const message = events.find((event) => event.type === 'message_received')
    const answer = events.find((event) => event.type === 'turn_ended')
    if (!message || !answer || isAutomated(message.source)) return
    const asked = message.text.trim()
    if (asked.length <= shortMessage) return
    const text = `Message:\n${cutText(asked, shownCharacters)}\n\nAnswer:\n${cutText(answer.text, shownCharacters)}`
    const reply = await askModel({ userId, sessionId: id, purpose: 'title', system: prompt, text, signal: stop.signal })
    const title = reply.ok ? cleanTitle(reply.text) : ''
    if (title !== '') await views.setGeneratedTitle(id, title)
  }

  return {
    /** Returns at once. */
    afterTurn(session: Session, { outcome }: Pick<TurnEnd, 'outcome'>): void {
      const isWanted = outcome === 'completed' && session.remembered === 1 && !isWorkChannel(session.channel)
      if (!isWanted || !isOn() || stop.signal.aborted || running.has(session.id)) return
      const done = write(session)
        .catch((cause: unknown) => logger.error('could not write a title', { error: reasonOf(cause) }))
        .finally(() => running.delete(session.id))
      running.set(session.id, done)
    },
    async close(): Promise<void> {
      stop.abort(new Error('Familiar is stopping'))
      await Promise.all(running.values())
    },
  }
}

/** One line without marks around it; empty for a text that is no title. */
export function cleanTitle(text: string): string {
  const line = text.trim().split('\n')[0] ?? ''
  const title = line
    .replace(/^(?:#+ |title: ?)/i, '')
    .replaceAll(/^["'“”„«*_`]+|["'“”«»*_`]+$/g, '')
    .replace(/[.。]$/, '')
    .trim()
  return title.length > maxTitle ? '' : title
}
