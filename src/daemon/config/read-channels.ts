import type { Config } from './config.ts'
import type { Environment } from './environment.ts'
import type { Settings } from './settings-schema.ts'

/** `[telegram]`, `[callback]` and `[voice]` with the keys in place of the keys' names. */
export function readChannels(source: {
  file: string
  settings: Settings
  environment: Environment
  warnings: string[]
}): Pick<Config, 'telegram' | 'callback' | 'voice'> {
  const { file, settings, environment, warnings } = source
  const { telegram, callback, voice } = settings

  function resolved(variable: string, consequence: string): string | null {
    const value = environment.get(variable)?.value
    if (value === undefined) warnings.push(`${file}: ${variable} is not set, so ${consequence}`)
    return value ?? null
  }

  function readTelegram(): Config['telegram'] {
    if (!telegram?.enabled) return null
    const token = resolved(telegram.token_env, 'Telegram stays silent')
    if (token === null) return null
    return {
      token,
      allowedIds: telegram.allowed_ids,
      apiRoot: telegram.api_root.replace(/\/+$/, ''),
      repeatUnknown: telegram.repeat_unknown,
    }
  }

  function readCallback(): Config['callback'] {
    if (!callback) return null
    const secret = resolved(callback.secret_env, 'nobody is called back')
    return secret === null ? null : { url: callback.url, secret, channels: callback.channels }
  }

  const { provider, base_url, api_key_env, model } = voice.transcription
  return {
    telegram: readTelegram(),
    callback: readCallback(),
    voice: {
      transcription: {
        provider,
        baseUrl: base_url ?? null,
        apiKey: api_key_env === undefined ? null : resolved(api_key_env, 'speech is written down without a key'),
        model: model ?? null,
      },
    },
  }
}
