import type { ListedModel } from '../../../src/protocol/home-api.ts'
import { Badge } from '../components/badge.tsx'
import { Facts } from '../components/facts.tsx'
import { priceWords } from './price-words.ts'

export function ModelCard({ model, isCurrent }: { model: ListedModel; isCurrent: boolean }) {
  return (
    <li className="rounded-xl border border-line bg-raised p-4">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 font-mono text-sm font-semibold">{model.id}</h3>
        {isCurrent && <Badge kind="good">answers now</Badge>}
        {model.is_offline && <Badge>without a network</Badge>}
      </div>
      <Facts
        facts={[
          ['Provider', model.provider_type && `${model.provider} (${model.provider_type})`],
          ['Key', keyWords(model)],
          ['Price', priceWords(model)],
          ['Reads at most', `${model.max_context_tokens.toLocaleString()} tokens`],
          ['Writes at most', `${model.max_tokens.toLocaleString()} tokens`],
          ['Pictures', model.supports_vision ? 'sees them' : 'does not see them'],
        ]}
      />
    </li>
  )
}

/** Servers on the machine itself need none. */
function keyWords({ has_key, provider_type }: ListedModel): string | null {
  if (has_key === null || provider_type === 'offline') return null
  return has_key ? 'there' : provider_type === 'ollama' ? 'none is needed' : 'none'
}
