import { z } from 'zod'
import { systemClock } from '../../base/clock.ts'
import { createTelegramApi } from '../../channels/telegram/api/create-telegram-api.ts'
import { telegramHosts } from '../../channels/telegram/api/telegram-hosts.ts'
import { createGuardedFetch } from '../../egress/guarded-fetch.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

type SoundConfig = Extract<LoadedConfig, { ok: true }>

const botSchema = z.object({ username: z.string().default('') })

/** Whether Telegram is set up; with `network` also whether it takes the token. Nothing is fetched of what people wrote. */
export async function checkTelegram({ config }: Pick<SoundConfig, 'config'>, network: boolean): Promise<Finding> {
  const check = 'telegram'
  const { telegram } = config
  if (!telegram) return ok(check, 'not set up')
  const people = telegram.allowedIds.length
  const named = people === 0 ? 'the config names nobody: people pair with a code' : `the config names ${people}`
  if (!network) return ok(check, `set up; ${named}`)
  const { apiRoot, token } = telegram
  const allowedHosts = telegramHosts(apiRoot)
  const fetch = createGuardedFetch({ allowedHosts, timeoutMs: 10_000 })
  const api = createTelegramApi({ token, apiRoot, fetch, clock: systemClock() })
  try {
    const signal = AbortSignal.timeout(10_000)
    const answer = await api.call('getMe', {}, { result: botSchema, signal })
    if (answer.kind === 'ok') return ok(check, `@${answer.result.username} answers; ${named}`)
    if (answer.kind !== 'refused') return warn(check, `${apiRoot} cannot be reached: ${answer.reason}`)
    if (answer.code !== 401 && answer.code !== 404) return warn(check, `${apiRoot} answers with ${answer.code}.`)
    return fail(check, 'Telegram does not take the token of the bot; @BotFather shows the right one.')
  } finally {
    await api.close()
  }
}
