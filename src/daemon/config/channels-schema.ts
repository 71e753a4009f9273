import { z } from 'zod'
import { baseUrl, variableName } from './provider-schema.ts'

/** `[telegram]` of `familiar.toml`. Without the table there is no Telegram. */
export const telegramSchema = z.strictObject({
  enabled: z.boolean().default(true),
  /** The variable that holds the bot's token. */
  token_env: variableName.default('TELEGRAM_BOT_TOKEN'),
  /** The numbers of people who are the owner; everybody else pairs with a code. Names prove nothing there. */
  allowed_ids: z.array(z.int().positive()).default([]),
  /** Another server of the Bot API. */
  api_root: baseUrl.default('https://api.telegram.org'),
  /** What may or may not have arrived is said again, marked as such; false leaves it at that. */
  repeat_unknown: z.boolean().default(true),
})

/** `[callback]` of `familiar.toml`: who is told of every message that was worked through. */
export const callbackSchema = z.strictObject({
  url: baseUrl,
  /** The variable that holds the secret that calls are signed with. */
  secret_env: variableName,
  /** Of which channels; all of them where none is named. */
  channels: z.array(z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'must be the name of a channel')).default([]),
})

/** `[voice]` of `familiar.toml`. What it says aloud is set in `[tools.tts]`. */
export const voiceSchema = z
  .strictObject({
    transcription: z
      .strictObject({
        /** `auto`: the model on this machine where `familiar voice install` has put one. */
        provider: z.enum(['auto', 'local', 'openai-compatible', 'off']).default('auto'),
        base_url: baseUrl.exactOptional(),
        api_key_env: variableName.exactOptional(),
        model: z.string().min(1).max(200).exactOptional(),
      })
      .refine(
        ({ provider, base_url, model }) =>
          provider !== 'openai-compatible' || (base_url !== undefined && model !== undefined),
        { path: ['base_url'], error: 'and model are needed for provider "openai-compatible"' },
      )
      .prefault({}),
  })
  .prefault({})
