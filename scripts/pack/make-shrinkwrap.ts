interface Lock {
  packages: Record<string, { dev?: boolean; devOptional?: boolean; resolved?: string; devDependencies?: unknown }>
}

/**
 * The repository's lock for a package: development dependencies are omitted, and no entry names its source, so that an
 * installation asks its own registry for exactly these bytes.
 */
export function makeShrinkwrap(lockText: string): string {
  const lock = JSON.parse(lockText) as Lock
  const packages = Object.entries(lock.packages)
    .filter(([, entry]) => !entry.dev)
    .map(([name, { resolved: _resolved, devDependencies: _development, ...entry }]) => [name, entry])
  return `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`
}
