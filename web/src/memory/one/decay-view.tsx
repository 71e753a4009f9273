import { lazy, Suspense } from 'react'
import type { MemoryDetailReply } from '../../../../src/protocol/memory-api.ts'
import { Panel, Section } from '../../components/screen.tsx'
import { formatMoment } from '../times.ts'
import { tierNames } from '../words.ts'

const DecayChart = lazy(async () => ({ default: (await import('./decay-chart.tsx')).DecayChart }))

export function DecayView({ memory, decay }: Pick<MemoryDetailReply, 'memory' | 'decay'>) {
  const { use_count, used_at, tier, priority } = memory
  return (
    <Section title="Strength">
      <Panel>
        <p className="mb-2 text-sm text-soft">
          <span className="text-lg font-semibold text-ink">{Math.round(decay.strength * 100)}%</span> now; it was given{' '}
          {Math.round(priority * 100)}%. {tierNames[tier]},{' '}
          {use_count === 0 ? 'not used since it was told' : `used ${times(use_count)}, last ${formatMoment(used_at)}`}.
          {decay.is_faded && ' It has faded: recall leaves it out.'}
        </p>
        <Suspense fallback={<div className="h-40" />}>
          <DecayChart decay={decay} />
        </Suspense>
        <p className="text-xs text-soft">
          {decay.policy === 'time' ? 'Days from now' : 'Turns from now'}, if nobody uses it. Every use brings it back to
          the top and makes it last longer.
        </p>
      </Panel>
    </Section>
  )
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
