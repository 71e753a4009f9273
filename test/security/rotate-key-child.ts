// Rotates the key of the vault in a home and ends itself, as a power cut would, at the named step.
import { openVaultIn } from './vault-support.ts'

const [home = '', fatalStep] = process.argv.slice(2)
const { vault } = await openVaultIn(home, (step) => {
  if (step === fatalStep) process.kill(process.pid, 'SIGKILL')
})
await vault.rotateKey()
