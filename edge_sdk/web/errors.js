/**
 * The errors for invalid bytes, declarations and values from outside, named by the stages of SPEC.md, and those that
 * only a device raises. No error text contains a person's value, prior or key.
 */

/** The base class of all errors; the text names the fault, and the remedy if it is not obvious. */
export class HalftruthError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** Bytes or declarations from outside that SPEC.md does not allow; `stage` is the stage of SPEC 0 that refused them. */
export class BadData extends HalftruthError {
  stage = "data";
}

/** Not in the canonical subset of msgpack (SPEC 1). */
export class CodecError extends BadData {
  stage = "codec";
}

/** A public key that must not be used: wrong length, not canonical, or of small order (SPEC 2). */
export class KeyRefused extends BadData {
  stage = "key";
}

/** A signature that does not verify (SPEC 2). */
export class SignatureRefused extends BadData {
  stage = "signature";
}

/** Bytes that are not an envelope, or not of the expected key (SPEC 3). */
export class EnvelopeError extends BadData {
  stage = "envelope";
}

/** An invalid domain (SPEC 4). */
export class DomainError extends BadData {
  stage = "domain";
}

/** Numbers that are not a channel (SPEC 5). */
export class ChannelError extends BadData {
  stage = "channel";
}

/** An invalid privacy notion (SPEC 6). */
export class NotionError extends BadData {
  stage = "notion";
}

/** The channel's integers do not satisfy the level that its notion declares (SPEC 6). */
export class Uncertified extends BadData {
  stage = "certificate";
}

/** Invalid views (SPEC 7.3). */
export class ViewError extends BadData {
  stage = "view";
}

/**
 * A campaign whose parts do not fit together, or that no trusted author has signed (SPEC 7); a closing notice, code,
 * class or prior that does not fit its campaign; a consent to a campaign with transcripts after its answers were forgotten.
 */
export class CampaignError extends BadData {
  stage = "campaign";
}

/** A report, enrolment, declared prior or counts of values that are invalid or do not fit the campaign (SPEC 8). */
export class ReportError extends BadData {
  stage = "report";
}

/** The campaign is not open at this time, or the clock shows a time before the consent or before the latest report. */
export class OutsideSchedule extends HalftruthError {}

/** The campaign has not opened yet; the same request may succeed later. */
export class NotOpen extends OutsideSchedule {}

/** The campaign's author closed it before its time. */
export class ClosedEarly extends OutsideSchedule {}

/** The question does not allow the value. The text never repeats the value. */
export class NotInDomain extends HalftruthError {}

/** This browser, or this page without https, lacks a function that the device needs. */
export class Unsupported extends HalftruthError {}

// Only a device raises these: the cause is a decision of the person, the campaign's terms, an address, or the browser.

/** A cap of the owner leaves too little room, or was lowered too far. The text names the cap and both amounts. */
export class BudgetRefused extends HalftruthError {}

/** The person has not agreed to this campaign, or agrees without the class or prior that it asks for. */
export class ConsentMissing extends HalftruthError {}

/** The given slot of the period was filled with another value or skipped, or no slot of the period is left. */
export class QuotaReached extends HalftruthError {}

/** The campaign is not joined. */
export class NotJoined extends HalftruthError {}

/** The outbox is full. Nothing was drawn or charged, and no waiting envelope was dropped. */
export class OutboxFull extends HalftruthError {}

/** The address cannot be used: not https, not an address, or another than the one that is already known. */
export class AddressRefused extends HalftruthError {}

/** This browser's store cannot be read or written: full, not allowed, closed, or just changed by another tab. */
export class StoreError extends HalftruthError {}

/** @typedef {new (message: string) => Error} Refusal the error class of the caller's stage */
