type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

export type CamelKeys<T> = { [Key in keyof T as Key extends string ? CamelCase<Key> : Key]: T[Key] }

/** `per_day_usd` → `perDayUsd`, for the keys of this one table: what lies inside its values may be names of the user's. */
export function camelKeys<T extends object>(table: T): CamelKeys<T> {
  const entries = Object.entries(table).map(([key, value]) => [
    key.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(entries) as CamelKeys<T>
}
