//! Inquiries (questions to people) and the permission rules people save.

use rooftree_protocol::{
    Answer, CallId, Effect, EventBody, InquiryResponse, PermissionDecision, PermissionId,
    PermissionScope, SessionId, Timestamp,
};

use super::{fixture::*, list};
use crate::{
    AnswerOutcome, AppendBatch, Inquiry, InquiryAnswer, InquiryHistoryFilter, RuleKind, RuleRow,
    RuleScope,
};

list![
    the_first_answer_is_kept_and_the_second_is_told_so,
    two_answers_at_once_leave_one,
    an_answer_after_its_time_does_not_count,
    what_the_journal_settles_is_not_open_any_more,
    a_question_asked_again_is_the_one_it_was,
    what_was_answered_or_settled_is_listed_page_by_page,
    inquiries_are_listed_in_the_order_they_were_asked,
    a_rule_is_kept_once_and_every_change_can_be_noticed,
];

fn asked(number: u128) -> EventBody {
    EventBody::PermissionRequested {
        id: PermissionId::from_entropy(number),
        call: CallId::from_entropy(number),
        tool: "Bash".into(),
        title: "make".into(),
        detail: String::new(),
        effect: Effect::Destructive,
        rule: "Bash(make)".into(),
        until: minute(),
        reason: String::new(),
        digest: "d".into(),
        scopes: Vec::new(),
        kind: Default::default(),
        spawn: Vec::new(),
    }
}

fn inquiry(session: &SessionId, number: u128) -> Inquiry {
    Inquiry {
        id: PermissionId::from_entropy(number).to_string(),
        session: session.clone(),
        root: session.clone(),
        run: None,
        agent: "lead".into(),
        digest: "d".into(),
        asked: asked(number),
        asked_at: NOW,
        until: minute(),
        answer: None,
        settled: false,
    }
}

fn answer(decision: PermissionDecision, by: &str, at: Timestamp) -> InquiryAnswer {
    let answer = Answer {
        decision,
        ..Answer::allow(PermissionScope::Once)
    };
    InquiryAnswer {
        response: InquiryResponse::Permission(answer),
        who: None,
        by: by.into(),
        at,
    }
}

async fn put(
    store: &StoreUnderTest,
    session: &SessionId,
    first: u64,
    asks: Vec<Inquiry>,
) -> crate::Claim {
    let claim = claim(store, session).await;
    let events = asks
        .iter()
        .zip(first..)
        .map(|(ask, id)| event(session, id, ask.asked.clone()))
        .collect();
    store
        .append(
            &claim,
            AppendBatch {
                asks,
                ..batch(events)
            },
        )
        .await
        .unwrap();
    claim
}

async fn the_first_answer_is_kept_and_the_second_is_told_so(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    put(&store, &session, 1, vec![inquiry(&session, 1)]).await;
    let id = inquiry(&session, 1).id;
    assert_eq!(store.answered(&id).await.unwrap(), None);
    let first = answer(PermissionDecision::Allow, "ann", NOW);
    let taken = store.answer(&id, first.clone()).await.unwrap();
    assert!(
        matches!(taken, AnswerOutcome::Taken(inquiry) if inquiry.answer == Some(first.clone()))
    );
    let late = store
        .answer(&id, answer(PermissionDecision::Deny, "bob", NOW))
        .await
        .unwrap();
    assert!(matches!(late, AnswerOutcome::Late(inquiry) if inquiry.answer == Some(first.clone())));
    assert_eq!(store.answered(&id).await.unwrap(), Some(first));
    let unknown = store
        .answer("per_nobody", answer(PermissionDecision::Allow, "ann", NOW))
        .await
        .unwrap();
    assert_eq!(unknown, AnswerOutcome::Unknown);
    let tail = &id[id.len() - 8..];
    assert_eq!(
        store.inquiry(tail).await.unwrap().unwrap().id,
        id,
        "an end of the id is enough"
    );
}

async fn two_answers_at_once_leave_one(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    put(&store, &session, 1, vec![inquiry(&session, 1)]).await;
    let id = inquiry(&session, 1).id;
    let by = |who: &'static str, decision| store.answer(&id, answer(decision, who, NOW));
    let (one, two) = (
        by("ann", PermissionDecision::Allow),
        by("bob", PermissionDecision::Deny),
    );
    let outcomes = [one.await.unwrap(), two.await.unwrap()];
    let taken = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, AnswerOutcome::Taken(_)))
        .count();
    assert_eq!(taken, 1);
}

async fn an_answer_after_its_time_does_not_count(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    put(&store, &session, 1, vec![inquiry(&session, 1)]).await;
    let id = inquiry(&session, 1).id;
    let late = store
        .answer(&id, answer(PermissionDecision::Allow, "ann", minute()))
        .await
        .unwrap();
    assert!(matches!(late, AnswerOutcome::Late(_)));
    assert_eq!(store.answered(&id).await.unwrap(), None);
}

async fn what_the_journal_settles_is_not_open_any_more(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    let claim = put(&store, &session, 1, vec![inquiry(&session, 1)]).await;
    assert_eq!(store.inquiries(None).await.unwrap().len(), 1);
    let (id, answer_given) = (PermissionId::from_entropy(1), Answer::deny(None));
    let resolved = EventBody::PermissionResolved {
        id: id.clone(),
        answer: answer_given,
        by: "expired".into(),
    };
    store
        .append(&claim, batch(vec![event(&session, 2, resolved)]))
        .await
        .unwrap();
    assert!(store.inquiries(None).await.unwrap().is_empty());
    let late = store
        .answer(id.as_str(), answer(PermissionDecision::Allow, "ann", NOW))
        .await
        .unwrap();
    assert!(matches!(late, AnswerOutcome::Late(_)));
}

async fn what_was_answered_or_settled_is_listed_page_by_page(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    let asked: Vec<Inquiry> = (1..=3)
        .map(|number| Inquiry {
            asked_at: Timestamp(NOW.0 + i64::try_from(number).unwrap()),
            ..inquiry(&session, number)
        })
        .collect();
    put(&store, &session, 1, asked.clone()).await;
    let history = |since, after: Option<&Inquiry>, tenant: &str| {
        store.inquiry_history(InquiryHistoryFilter {
            tenant: tenant.into(),
            since,
            after: after.map(|after| (after.asked_at, after.id.clone())),
            limit: 1,
        })
    };
    assert_eq!(history(NOW, None, "default").await.unwrap(), []);
    for one in asked.iter().take(2) {
        let given = answer(PermissionDecision::Allow, "ann", NOW);
        store.answer(&one.id, given).await.unwrap();
    }
    let page = history(NOW, None, "default").await.unwrap();
    let (Some(newest), Some(second), Some(oldest)) = (page.first(), asked.get(1), asked.first())
    else {
        panic!("nothing is listed");
    };
    assert_eq!(newest.id, second.id, "the last one that was answered");
    let page = history(NOW, Some(newest), "default").await.unwrap();
    let last = page.first().unwrap();
    assert_eq!(last.id, oldest.id);
    assert_eq!(history(NOW, Some(last), "default").await.unwrap(), []);
    assert_eq!(
        history(minute(), None, "default").await.unwrap(),
        [],
        "too old"
    );
    assert_eq!(history(NOW, None, "other").await.unwrap(), []);
}

async fn a_question_asked_again_is_the_one_it_was(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    put(&store, &session, 1, vec![inquiry(&session, 1)]).await;
    let id = inquiry(&session, 1).id;
    store
        .answer(&id, answer(PermissionDecision::Allow, "ann", NOW))
        .await
        .unwrap();
    let again = Inquiry {
        digest: "other".into(),
        ..inquiry(&session, 1)
    };
    let claim = claim_until(&store, &session, minute(), Timestamp(minute().0 * 2))
        .await
        .claim;
    store
        .append(
            &claim,
            AppendBatch {
                asks: vec![again],
                ..batch(Vec::new())
            },
        )
        .await
        .unwrap();
    let kept = store.inquiry(&id).await.unwrap().unwrap();
    assert_eq!(kept.digest, "d");
    assert!(kept.answer.is_some());
}

async fn inquiries_are_listed_in_the_order_they_were_asked(store: StoreUnderTest) {
    let (one, two) = (open(&store, 1).await, open(&store, 2).await);
    put(&store, &one, 1, vec![inquiry(&one, 9), inquiry(&one, 3)]).await;
    let below = Inquiry {
        root: one.clone(),
        ..inquiry(&two, 5)
    };
    put(&store, &two, 1, vec![below, inquiry(&two, 6)]).await;
    let ids = |inquiries: Vec<Inquiry>| {
        inquiries
            .into_iter()
            .map(|inquiry| inquiry.id)
            .collect::<Vec<_>>()
    };
    let id = |number| PermissionId::from_entropy(number).to_string();
    assert_eq!(
        ids(store.inquiries(None).await.unwrap()),
        [id(9), id(3), id(5), id(6)]
    );
    assert_eq!(
        ids(store.inquiries(Some(&one)).await.unwrap()),
        [id(9), id(3), id(5)]
    );
}

async fn a_rule_is_kept_once_and_every_change_can_be_noticed(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    let rule = |kind, rule: &str, scope| RuleRow {
        number: 0,
        kind,
        rule: rule.into(),
        scope,
        by: "ann".into(),
        at: NOW,
    };
    let (empty, none) = store.rules().await.unwrap();
    assert!(none.is_empty());
    let first = rule(RuleKind::Allow, "Bash(make)", RuleScope::Always);
    let number = store.put_rule(first.clone(), None).await.unwrap();
    assert_eq!(
        store.put_rule(first, None).await.unwrap(),
        number,
        "the same rule is the same row"
    );
    let scoped = rule(
        RuleKind::Deny,
        "Bash(make)",
        RuleScope::Session(session.clone()),
    );
    let claimed = claim_until(&store, &session, NOW, minute()).await;
    store
        .append(
            &claimed.claim,
            AppendBatch {
                rules: vec![scoped],
                ..batch(Vec::new())
            },
        )
        .await
        .unwrap();
    let (both, rules) = store.rules().await.unwrap();
    assert_eq!(rules.len(), 2);
    assert_eq!(rules.last().unwrap().scope, RuleScope::Session(session));
    assert!(store.remove_rule(number, None).await.unwrap());
    assert!(!store.remove_rule(number, None).await.unwrap());
    let (one, _) = store.rules().await.unwrap();
    assert!(
        empty != claimed.rules && claimed.rules != both && both != one,
        "each change is another version"
    );
}
