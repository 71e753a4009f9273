import { FamiliarError } from '../../../protocol/error.ts'
import {
  type TelegramCodeReply,
  type TelegramContactsReply,
  type TelegramStatusReply,
  type TelegramUnpairedReply,
  telegramCodeReplySchema,
  telegramCodeRequestSchema,
  telegramContactsReplySchema,
  telegramStatusReplySchema,
  telegramUnpairedReplySchema,
} from '../../../protocol/telegram-api.ts'
import type { TelegramDesk } from '../../telegram/telegram-desk.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

const base = '/api/v1/local/telegram'
/** Whoever holds a code speaks as a user of this home: these answer this machine's own command line alone, as tokens do. */
const ownerAtHome = { auth: 'token', scope: 'owner', isOwners: true, isLocal: true } as const

/** Telegram, for the owner of this home. */
export function createTelegramRoutes(telegram: TelegramDesk): Route[] {
  return [
    defineRoute({
      ...ownerAtHome,
      method: 'GET',
      path: base,
      summary: 'Whether Telegram is read.',
      reply: { status: 200, schema: telegramStatusReplySchema },
      handle() {
        const { state, bot, problem, lastUpdateAt } = telegram.status()
        const last = lastUpdateAt === null ? null : isoTime(lastUpdateAt)
        return jsonReply({ state, bot, problem, last_update_at: last } satisfies TelegramStatusReply)
      },
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'GET',
      path: `${base}/contacts`,
      summary: 'Who may speak on Telegram, and as whom.',
      reply: { status: 200, schema: telegramContactsReplySchema },
      async handle() {
        const contacts = (await telegram.contacts()).map(({ id, user, name, pairedAt }) => {
          return { id, user, name, paired_at: pairedAt === null ? null : isoTime(pairedAt) }
        })
        return jsonReply({ contacts } satisfies TelegramContactsReply)
      },
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'POST',
      path: `${base}/codes`,
      summary: 'Make a code with which somebody pairs on Telegram. Shown this once.',
      body: telegramCodeRequestSchema,
      reply: { status: 201, schema: telegramCodeReplySchema, showsSecret: true },
      async handle({ body }) {
        const { code, link, user, expiresAt } = await telegram.makeCode(body.user)
        const reply: TelegramCodeReply = { code, link, user: user.name, expires_at: isoTime(expiresAt) }
        return jsonReply(reply, { status: 201 })
      },
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'DELETE',
      path: `${base}/contacts/:id`,
      summary: 'Hear somebody on Telegram no longer.',
      reply: { status: 200, schema: telegramUnpairedReplySchema },
      async handle({ context }) {
        const given = context.req.param('id') ?? ''
        if (!/^\d{1,15}$/.test(given)) throw new FamiliarError('not_found', 'On Telegram people have numbers')
        await telegram.unpair(Number(given))
        return jsonReply({ id: Number(given) } satisfies TelegramUnpairedReply)
      },
    }),
  ]
}
