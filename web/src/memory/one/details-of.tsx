import type { ReactNode } from 'react'
import type { MemoryDetailReply } from '../../../../src/protocol/memory-api.ts'
import { Link } from '../../shell/link.tsx'
import { formatDay, formatMoment } from '../times.ts'
import { sourceNames, tierNames } from '../words.ts'

const labelNames = {
  owner: 'Yours: as good as your word',
  internal: 'Familiar’s own',
  untrusted: 'Untrusted: read, never obeyed',
}

/** All that is known about a memory beside its content. */
export function detailsOf({ memory, fact, episode, commitment }: MemoryDetailReply): [string, ReactNode][] {
  const { file, session_id, turn_id, happened_from, happened_until } = memory
  return [
    ['From', sourceNames[memory.source]],
    ['Told', formatMoment(memory.created_at)],
    ['Told by', memory.speaker],
    [
      'Conversation',
      session_id && (
        <Link
          href={`/talk/${session_id}${turn_id ? `?turn=${encodeURIComponent(turn_id)}` : ''}`}
          className="text-accent underline underline-offset-4"
        >
          {turn_id ? 'The turn that it is from' : 'The conversation that it is from'}
        </Link>
      ),
    ],
    ['File', file && `${file.file}, lines ${file.first_line} to ${file.last_line}`],
    ['Trust', labelNames[memory.label]],
    ['Category', memory.category],
    ['Tags', memory.tags.join(', ')],
    [
      'Speaks of',
      happened_from && [...new Set([happened_from, happened_until ?? happened_from].map(formatDay))].join(' to '),
    ],
    ['Lasts', `${tierNames[memory.tier]}, priority ${Math.round(memory.priority * 100)}%`],
    ['Of', fact?.entity],
    ['Sure', fact && `${Math.round(fact.confidence * 100)}%`],
    [
      'True',
      fact && `since ${formatDay(fact.valid_from)}${fact.valid_to ? `, until ${formatDay(fact.valid_to)}` : ''}`,
    ],
    ['Decided', episode?.decisions.join('; ')],
    ['Topics', episode?.topics.join(', ')],
    ['Tone', episode?.tone],
    ['State', commitment?.state],
    ['Due', commitment?.deadline && formatMoment(commitment.deadline)],
    [
      'Id',
      <code key="id" className="font-mono text-xs">
        {memory.id}
      </code>,
    ],
  ]
}
