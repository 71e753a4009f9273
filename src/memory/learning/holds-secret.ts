const named =
  /\b(?:passwords?|passphrase|passcode|passwort|cvv|cvc|api[ _-]?keys?|secret keys?|private keys?|access tokens?|bearer tokens?|recovery codes?|seed phrase)\b[^.\n]{0,40}(?:\bis\b|\bare\b|:|=)\s{0,4}\S/i
const pin = /\bpin(?: code| number)?(?: is|:| =)? ?\d{4,}/i
const keyShaped = /\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|AKIA|AIza|eyJ)[-_A-Za-z0-9]{12,}/
const pem = '-----BEGIN '
const long = /[A-Za-z0-9+/_=-]{32,}/g
const digits = /\d(?:[ -]?\d){12,18}/g

/** A password, a key or the number of a card: told in a conversation, and nothing to be written down elsewhere. */
export function holdsSecret(text: string): boolean {
  if (text.includes(pem) || named.test(text) || pin.test(text) || keyShaped.test(text)) return true
  if ([...text.matchAll(long)].some(([word]) => /\d/.test(word) && /[A-Za-z]/.test(word))) return true
  return [...text.matchAll(digits)].some(([number]) => passesLuhn(number.replaceAll(/[ -]/g, '')))
}

function passesLuhn(number: string): boolean {
  let sum = 0
  for (const [index, digit] of [...number].reverse().entries()) {
    const doubled = index % 2 === 0 ? Number(digit) : Number(digit) * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
