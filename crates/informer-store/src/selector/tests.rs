//! Label and field selectors: the grammar, what they choose, and what they print, case by case and at random.

use proptest::prelude::*;

use super::*;
use crate::digest::LabelDigest;
use crate::object::OwnerReference;
use crate::uid::Uid;
use crate::version::ResourceVersion;

struct Meta(Vec<(String, String)>);

impl ObjectMetadata for Meta {
    fn name(&self) -> Option<&str> {
        Some("cart-1")
    }
    fn namespace(&self) -> Option<&str> {
        Some("shop")
    }
    fn uid(&self) -> Option<Uid> {
        None
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        None
    }
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}

fn labels(pairs: &[(&str, &str)]) -> Meta {
    Meta(
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
    )
}

fn parsed(text: &str) -> LabelSelector {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn operators_match_as_the_api_does() {
    let object = labels(&[("app", "web"), ("replicas", "4"), ("empty", "")]);
    for (text, chosen) in [
        ("", true),
        ("  ", true),
        ("app=web", true),
        ("app==web", true),
        ("app = api", false),
        ("app!=web", false),
        ("app!=api", true),
        ("other!=web", true),
        ("app in (api,web)", true),
        ("app in(api)", false),
        ("other in (web)", false),
        ("app notin (api)", true),
        ("app notin (web)", false),
        ("other notin (web)", true),
        ("app", true),
        ("other", false),
        ("!app", false),
        ("! other", true),
        ("replicas>3", true),
        ("replicas>4", false),
        ("replicas<5", true),
        ("replicas<4", false),
        ("other>1", false),
        ("app>1", false),
        ("empty=", true),
        ("empty in (,x)", true),
        ("empty in (,)", true),
        ("app in (,x)", false),
        ("app=web,replicas,!other", true),
        ("app=web,replicas,other", false),
        ("in in (in),app", false),
    ] {
        assert_eq!(parsed(text).matches(&object), chosen, "{text}");
    }
    // Words of the grammar are ordinary keys and values.
    assert!(parsed("in in (notin)").matches(&labels(&[("in", "notin")])));
    assert!(parsed("notin=in").matches(&labels(&[("notin", "in")])));
}

#[test]
fn selector_error_has_the_position() {
    for (text, at) in [
        ("app=web,", 8),
        (",app", 0),
        ("app in web", 7),
        ("app in (web", 11),
        ("app in (web api)", 12),
        ("app web", 4),
        ("!app=web", 4),
        ("app=(web)", 4),
        ("app!web", 3),
        ("app=web=api", 7),
        ("!", 1),
        ("äpp=web, =", 10),
    ] {
        match text.parse::<LabelSelector>() {
            Err(SelectorError::Syntax { at: found, .. }) => assert_eq!(found, at, "{text}"),
            // The key is looked at before what follows.
            Err(SelectorError::Key { .. }) if text.starts_with('ä') => {}
            other => panic!("{text}: {other:?}"),
        }
    }
    let error = "app in (web".parse::<LabelSelector>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "selector \"app in (web\" is invalid at byte 11: found the end, expected ',' or ')'"
    );
}

#[test]
fn invalid_label_keys_and_values_are_refused() {
    let long = "a".repeat(64);
    for text in [
        "-app",
        "app-=x",
        "a/b/c",
        "/app",
        "App.example.com/app",
        "app=-x",
        "app=x/y",
        "app in ()",
        "app notin ()",
        "app>x",
        "app<",
        "app>1.5",
        &long,
        &format!("app={long}"),
        &format!("{}/app", "a.".repeat(130)),
    ] {
        assert!(text.parse::<LabelSelector>().is_err(), "{text}");
    }
    assert!(
        "example.com/app_name.x=A-b_c.d"
            .parse::<LabelSelector>()
            .is_ok()
    );
    let expression = LabelSelector::everything().with_expression("app", "Near", ["x"]);
    assert!(matches!(expression, Err(SelectorError::Operator { .. })));
    let two = Requirement::new("app", Operator::Equals, ["x", "y"]);
    assert!(matches!(two, Err(SelectorError::Count { count: 2, .. })));
}

#[test]
fn nothing_selector_survives_parsing() {
    let nothing = LabelSelector::nothing();
    assert!(nothing.is_nothing() && !nothing.is_everything());
    assert!(!nothing.matches(&labels(&[])));
    assert!(!nothing.matches(&labels(&[("nothing", "x")])));
    assert_eq!(parsed(&nothing.to_string()), nothing);
    assert!(!parsed("!app,app!=x").is_nothing());
    assert!(parsed("!app,app=x").is_nothing());
}

#[test]
fn field_selector_compares_metadata_fields() {
    let object = labels(&[]);
    for (text, chosen) in [
        ("", true),
        ("metadata.name=cart-1", true),
        ("metadata.name==cart-1,metadata.namespace=shop", true),
        ("metadata.name!=cart-1", false),
        ("metadata.namespace!=other,", true),
        ("metadata.namespace=other", false),
    ] {
        let selector: FieldSelector = text.parse().expect(text);
        assert_eq!(selector.matches(&object), chosen, "{text}");
    }
    assert!(matches!(
        "spec.nodeName=a".parse::<FieldSelector>(),
        Err(SelectorError::Field { .. })
    ));
    for (text, at) in [
        ("metadata.name=a,metadata.name", 29),
        ("metadata.name=a=b", 15),
        ("metadata.name=a\\b", 15),
        ("metadata.name=a\\", 15),
    ] {
        match text.parse::<FieldSelector>() {
            Err(SelectorError::Syntax { at: found, .. }) => assert_eq!(found, at, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("in".to_owned()),
        Just("notin".to_owned()),
        "[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,8}[a-zA-Z0-9])?",
    ]
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let value = prop_oneof![1 => Just(String::new()), 5 => word()];
    let key =
        (prop::option::of("[a-z]{1,5}(\\.[a-z]{1,5})?"), word()).prop_map(|(prefix, name)| {
            prefix.map_or_else(|| name.clone(), |prefix| format!("{prefix}/{name}"))
        });
    (key, 0..8, prop::collection::vec(value, 1..4), any::<i64>()).prop_map(
        |(key, operator, values, number)| {
            let number = number.unsigned_abs().min(i64::MAX as u64).to_string();
            let (operator, values) = match operator {
                0 => (Operator::Equals, values[..1].to_vec()),
                1 => (Operator::NotEquals, values[..1].to_vec()),
                2 => (Operator::In, values),
                3 => (Operator::NotIn, values),
                4 => (Operator::Exists, vec![]),
                5 => (Operator::DoesNotExist, vec![]),
                6 => (Operator::GreaterThan, vec![number]),
                _ => (Operator::LessThan, vec![number]),
            };
            Requirement::new(&key, operator, values).expect("made of valid parts")
        },
    )
}

/// The meaning of a requirement, without the code under test.
fn naive(requirement: &Requirement, labels: &Meta) -> bool {
    let label = labels
        .0
        .iter()
        .find(|(key, _)| key == requirement.key())
        .map(|(_, value)| value);
    let values: Vec<&str> = requirement.values().collect();
    let number = |text: &str| text.parse::<i64>().ok();
    match requirement.operator() {
        Operator::Exists => label.is_some(),
        Operator::DoesNotExist => label.is_none(),
        Operator::Equals | Operator::In => label.is_some_and(|label| values.contains(&&**label)),
        Operator::NotEquals | Operator::NotIn => !label.is_some_and(|l| values.contains(&&**l)),
        Operator::GreaterThan => {
            label.and_then(|l| number(l)) > number(values[0])
                && label.is_some_and(|l| number(l).is_some())
        }
        Operator::LessThan => label
            .and_then(|l| number(l))
            .is_some_and(|l| Some(l) < number(values[0])),
    }
}

proptest! {
    #[test]
    fn label_selector_survives_parsing(requirements in prop::collection::vec(requirement(), 0..5)) {
        let selector: LabelSelector = requirements.into_iter().collect();
        let text = selector.to_string();
        prop_assert_eq!(text.parse::<LabelSelector>(), Ok(selector), "{}", text);
    }

    #[test]
    fn label_selector_matches_if_all_requirements_do(
        requirements in prop::collection::vec(requirement(), 0..3),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3),
        others in prop::collection::vec((word(), word()), 0..3),
    ) {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (which, value) in hits {
            if requirements.is_empty() { continue }
            let requirement = which.get(&requirements);
            let values: Vec<&str> = requirement.values().chain(["5"]).collect();
            pairs.push((requirement.key().to_owned(), (*value.get(&values)).to_owned()));
        }
        pairs.extend(others);
        pairs.sort();
        pairs.dedup_by(|a, b| a.0 == b.0);
        let object = Meta(pairs);
        let expected = requirements.iter().all(|requirement| naive(requirement, &object));
        let selector: LabelSelector = requirements.into_iter().collect();
        prop_assert_eq!(selector.matches(&object), expected);
        // The digest decides as the labels do.
        let decided = selector.decide(LabelDigest::of(&object));
        prop_assert!(decided.is_none_or(|decided| decided == expected));
        if selector.is_nothing() {
            prop_assert!(!expected);
        }
    }

    #[test]
    fn selector_parsers_never_panic(text in "[a-z=!(),<> \\\\.äß]{0,20}") {
        let _ = text.parse::<LabelSelector>();
        let _ = text.parse::<FieldSelector>();
    }

    #[test]
    fn field_selector_survives_parsing(name in "[a-z=,\\\\äß ]{0,8}", namespace in "[a-z]{0,5}") {
        let selector = FieldSelector::everything().with_name(&name).without_namespace(&namespace);
        let text = selector.to_string();
        prop_assert_eq!(text.parse::<FieldSelector>(), Ok(selector), "{}", text);
    }
}

#[test]
fn syntax_of_field_selectors_is_checked_for_fields_that_only_the_server_knows() {
    for good in [
        "",
        "spec.nodeName=n1,status.phase!=Failed",
        r"a=b\,c,metadata.name=d",
    ] {
        assert_eq!(FieldSelector::check_syntax(good), Ok(()), "{good}");
    }
    for bad in [
        "spec.nodeName",
        "spec.nodeName=a=b",
        r"a=b,status.phase=\x",
        "a=b,c",
    ] {
        assert!(FieldSelector::check_syntax(bad).is_err(), "{bad}");
    }
}
