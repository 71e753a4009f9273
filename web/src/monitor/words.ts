export function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return `${Math.floor(seconds)} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}

const units = ['bytes', 'KB', 'MB', 'GB', 'TB']

export function bytes(amount: number): string {
  const step = amount < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(amount) / 3))
  const value = amount / 1_000 ** step
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[step]}`
}
