/** A few numbers, side by side. */
export function FigureRow({ figures }: { figures: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl className="mb-4 flex flex-wrap gap-x-8 gap-y-3">
      {figures.map(([name, value]) => (
        <div key={name} className="flex flex-col-reverse">
          <dt className="text-xs text-soft">{name}</dt>
          <dd className="text-lg font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
