import { estimateTokens } from '../src/base/tokens.ts'
import { startFakeModel } from '../test/support/fake-model/start-fake-model.ts'
import { startFamiliar } from '../test/support/running-familiar.ts'

export interface PromptFigures {
  wire: string
  turns: number
  /** The smallest share of a request that the next one repeats byte for byte from its beginning. */
  worstPrefixReuse: number
  meanPrefixReuse: number
  /** Everything that a first "hello" sends, tools included. */
  firstRequestTokens: number
  firstRequestBytes: number
}

/** Talks through a whole session with a fresh home and compares the bytes of each request with those of the one before. */
export async function measurePrompt(wire: 'anthropic' | 'openai-compatible', turns: number): Promise<PromptFigures> {
  const fake = await startFakeModel({
    script: (request) => {
      // Every fifth turn takes a round with a tool, as real conversations do.
      const asksForTool =
        request.lastUserText.includes('turn') && Number(request.lastUserText.match(/\d+/)?.[0]) % 5 === 0
      if (asksForTool && request.toolResults.length === 0) {
        return { text: 'One moment.', toolCalls: [{ name: 'recall_memory', input: { query: 'sea' } }] }
      }
      return { text: `A reply of ordinary length to ${request.lastUserText.slice(-40)}, as people give them.` }
    },
  })
  const provider = [
    `type = "${wire}"`,
    `base_url = "${fake.url}/v1"`,
    'api_key_env = "FAKE_KEY"',
    '[models.main]',
    'model = "fake-model"',
    'cost_per_mtok = [3.0, 15.0, 0.3, 3.75]',
  ].join('\n')
  // Background extraction also calls the model, for each exchange on its own; those calls are not part of the
  // conversation.
  const toml = '[routes]\nprimary = "fake/main"\n[memory]\nextraction = false\n'
  const familiar = await startFamiliar({ providers: { fake: provider }, toml })
  try {
    await familiar.chat('hello')
    for (let turn = 2; turn <= turns; turn += 1)
      await familiar.chat(`This is turn ${turn}. What do you think of the sea?`)
    const bodies = fake.requests.map((request) => request.bytes)
    const reuse = bodies
      .slice(1)
      .map((body, index) => commonPrefix(bodies[index] ?? '', body) / (bodies[index] ?? '').length)
    return {
      wire,
      turns,
      worstPrefixReuse: Math.min(...reuse),
      meanPrefixReuse: reuse.reduce((sum, share) => sum + share, 0) / reuse.length,
      firstRequestTokens: estimateTokens(bodies[0] ?? ''),
      firstRequestBytes: bodies[0]?.length ?? 0,
    }
  } finally {
    await familiar.close()
    await fake.close()
  }
}

function commonPrefix(first: string, second: string): number {
  let length = 0
  while (length < first.length && first[length] === second[length]) length += 1
  return length
}
