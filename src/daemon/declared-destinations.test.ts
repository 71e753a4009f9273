import { expect, it } from 'vitest'
import { loadConfig } from './config/load-config.ts'
import { policyOf } from './open-sandbox.ts'

function declaredBy(toml: string): string[] {
  const files = {
    read: (path: string) => (path.endsWith('familiar.toml') ? toml : undefined),
    list: () => [],
    isExposed: () => false,
  }
  const loaded = loadConfig({ home: '/nowhere', env: { SEARCH_KEY: 'a', VOICE_KEY: 'b' }, files })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return policyOf(loaded.config).destinations
}

it("SEC-6 includes the owner's configured services in the declared destinations", () => {
  expect(declaredBy('')).toEqual([])
  const toml = `[policy]
destinations = ["https://api.example.org"]
[tools.web_search]
provider = "tavily"
api_key_env = "SEARCH_KEY"
[tools.tts]
provider = "elevenlabs"
api_key_env = "VOICE_KEY"
`
  expect(declaredBy(toml)).toEqual(['https://api.example.org', 'https://api.tavily.com', 'https://api.elevenlabs.io'])
})
