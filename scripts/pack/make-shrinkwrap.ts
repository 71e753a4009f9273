interface Lock {
  packages: Record<string, { dev?: boolean; devOptional?: boolean; resolved?: string; devDependencies?: unknown }>
}

/**
 * The lock of the repository as the one of a package: what development needs is left out, and no entry says from where it
 * is fetched, so that whoever installs it asks their own registry for these very bytes.
 */
export function makeShrinkwrap(lockText: string): string {
  const lock = JSON.parse(lockText) as Lock
  const packages = Object.entries(lock.packages)
    .filter(([, entry]) => !entry.dev)
    .map(([name, { resolved: _resolved, devDependencies: _development, ...entry }]) => [name, entry])
  return `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`
}
