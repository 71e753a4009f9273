import type { ReactNode } from 'react'

/** What is known of a thing, name by name. Whatever has no value is left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
  return (
    <dl className="grid grid-cols-1 gap-x-6 gap-y-2 text-sm sm:grid-cols-[max-content_1fr] sm:gap-y-1.5">
      {known.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft max-sm:mt-1">{name}</dt>
          <dd className="min-w-0 max-sm:-mt-2">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
