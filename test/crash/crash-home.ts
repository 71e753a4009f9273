import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Messages of this source go to the provider that speaks Anthropic's format and thinks. */
export const thinkingSource = 'thinker'

/** A home whose models are the fake ones. Prices are high enough to be seen and caps too high to be met. */
export function writeCrashHome(home: string, providerUrl: string): void {
  const folder = join(home, 'providers.d')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(home, 'familiar.toml'), settings)
  writeFileSync(
    join(folder, 'plain.toml'),
    `type = "openai-compatible"
base_url = "${providerUrl}/v1"
api_key_env = "CRASH_KEY"
[models.main]
model = "fake-model"
max_tokens = 4096
max_context_tokens = 200000
cost_per_mtok = [3.0, 15.0, 0.3, 3.75]
`,
  )
  writeFileSync(
    join(folder, 'thinking.toml'),
    `type = "anthropic"
base_url = "${providerUrl}/v1"
api_key_env = "CRASH_KEY"
[models.main]
model = "fake-model"
max_tokens = 4096
max_context_tokens = 200000
thinking_tokens = 1024
cost_per_mtok = [3.0, 15.0, 0.3, 3.75]
`,
  )
}

const settings = `[providers]
load = ["plain", "thinking"]

[routes]
primary = "plain/main"

[routes.sources]
${thinkingSource} = "thinking/main"

# Recalled, an errand would be told to the model again, and it would run it again. Learning has crash tests of its own.
[memory]
conversations = false
extraction = false

[budget]
per_message_usd = 10000.0
per_day_usd = 100000.0

[sessions]
debounce_ms = 0

[compaction]
threshold_tokens = 100000

[http]
rate_limit_per_minute = 10000000
`
